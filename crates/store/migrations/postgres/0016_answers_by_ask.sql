-- Nothing: a server has no tables that are kept by their key. A file has its answers and deliveries so from here on.
SELECT 1;

-- A ledger as the first migration had it: asks that are open, delivered and on their way, a rule, a turn.
-- It belongs to that migration and changes as little; statements are of both dialects.

INSERT INTO workspaces (id, name, path, added_at) VALUES
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 'project', '/home/ada/project', 1800000000000000);

INSERT INTO actors (id, kind, name, made_at) VALUES
    ('actor_01mcc5rm00fzesayvja8vvtyz5', 'person', 'ada', 1800000000000000),
    ('actor_01mcc5rm00e3krjhpkbk9x1t6g', 'person', 'bob', 1800000000000000);

INSERT INTO engines (id, workspace, program, added_at) VALUES
    ('engine_01mcc5rm00f7bbm7pzd5041sfh', 'ws_01mcc5rm00f0cv92grnd7vq2sy', 'opencode', 1800000000000000);

INSERT INTO runs (id, engine, state, started_at, why, taken) VALUES
    ('run_01mcc5rm00ekxbkkf4nvpxafan', 'engine_01mcc5rm00f7bbm7pzd5041sfh', 'starting', 1800000000000000, '', 0);

INSERT INTO sessions (id, workspace, engine, native_id, title, directory, agent, activity, started_at, changed_at) VALUES
    ('session_01mcc5rm00em2a9kqesq4kqdgz', 'ws_01mcc5rm00f0cv92grnd7vq2sy', 'opencode', 'ses_1', 'Fix the build', '/home/ada/project', 'build', 'busy', 1800000000000000, 1800000000000000);

INSERT INTO turns (id, session, native_id, prompt, actor, started_at) VALUES
    ('turn_01mcc5rm00e2q94faryd569dr4', 'session_01mcc5rm00em2a9kqesq4kqdgz', 'msg_1', 'fix the build', 'actor_01mcc5rm00fzesayvja8vvtyz5', 1800000001000000);

INSERT INTO asks (id, workspace, door, run, session, native_id, directory, subject, raw, options, opened_at, digest, fingerprint, likeness, state) VALUES
    ('ask_01mcc5rmz8fs2r81pqsrea7bxk', 'ws_01mcc5rm00f0cv92grnd7vq2sy', 'opencode', 'run_01mcc5rm00ekxbkkf4nvpxafan', 'session_01mcc5rm00em2a9kqesq4kqdgz', 'per_1', '/home/ada/project', '{"kind":"permission","tool":"bash","targets":["git status"],"shown":[]}', '{"command":"git status","id":"per_1"}', '[]', 1800000001000000, '905b411eded0c6873a5c71da5d4ebb3067177ec8f617d24a3dfec817d6b43304', '24fcd478cf4411312983ac785c14442a1551fd34be8012c7447a12cc985b62dd', 'c93e7d25a9693900567bce7d3e227245cb07e38991b304c8c6f5184230fb96aa', 'delivered'),
    ('ask_01mcc5rmz8ej4r85ka959f53pw', 'ws_01mcc5rm00f0cv92grnd7vq2sy', 'opencode', 'run_01mcc5rm00ekxbkkf4nvpxafan', 'session_01mcc5rm00em2a9kqesq4kqdgz', 'per_2', '/home/ada/project', '{"kind":"permission","tool":"bash","targets":["rm -rf /"],"shown":[]}', '{"command":"rm -rf /","id":"per_2"}', '[]', 1800000001000000, '136601615a5c4d2f8beb61e2423acaac16c58f59d366ac15d83a03cabcd8194c', '340ce3a93c3ace31c68ff84189c1506484ff7862bdec92e6f9648165ec79a6eb', '8e293728a35d49960845c0ab663f4c280b66f6b5425d7805afae4d9c00f9f881', 'answered'),
    ('ask_01mcc5rmz8f779yp70wz9kmenv', 'ws_01mcc5rm00f0cv92grnd7vq2sy', 'opencode', 'run_01mcc5rm00ekxbkkf4nvpxafan', 'session_01mcc5rm00em2a9kqesq4kqdgz', 'per_3', '/home/ada/project', '{"kind":"permission","tool":"bash","targets":["cargo test"],"shown":[]}', '{"command":"cargo test","id":"per_3"}', '[]', 1800000001000000, 'e1924fea051c525228bfec74c0d085a1df87e7a4d9c88c17cb0ef346c8850839', '854aab2c0e3122c322f6430f62a20c4ceb0aeccf8a52804c591c4ac22e242067', '95e6c6ca849af7b89396c446ba988733f1624a327082e2f859e8df9f1f92e545', 'open'),
    ('ask_01mcc5rmz8f60tk01qpdxg41xy', 'ws_01mcc5rm00f0cv92grnd7vq2sy', 'opencode', 'run_01mcc5rm00ekxbkkf4nvpxafan', 'session_01mcc5rm00em2a9kqesq4kqdgz', 'que_1', '/home/ada/project', '{"kind":"question","questions":[{"header":"Store","question":"Which database?","options":[],"multiple":false}]}', '{"command":"","id":"que_1"}', '[]', 1800000001000000, 'bcb230975f5a2d7a86b60abe40db445ee9ab4a793b63cadf156482dcbaafe7a4', 'f39f331c5615761d7394edbf37aebed04ab8afe00fb367963fbf4b31fd610a77', '8f5d08163dcd13d7d7f5b60d03cd8b90dc358e4a786251823a0b0db13baa29f7', 'open');

INSERT INTO rules (id, workspace, tool, verdict, matcher, made_by, made_at, made_from) VALUES
    ('rule_01mcc5rnygfyvv08fg1472eck9', 'ws_01mcc5rm00f0cv92grnd7vq2sy', 'bash', 'allow', '{"match":"exact","targets":["git status"]}', 'actor_01mcc5rm00fzesayvja8vvtyz5', 1800000002000000, 'ask_01mcc5rmz8fs2r81pqsrea7bxk');

INSERT INTO answers (ask, choice, actor, surface, at, rule) VALUES
    ('ask_01mcc5rmz8fs2r81pqsrea7bxk', '{"answer":"allow_always","scope":"workspace"}', 'actor_01mcc5rm00fzesayvja8vvtyz5', 'web', 1800000002000000, 'rule_01mcc5rnygfyvv08fg1472eck9'),
    ('ask_01mcc5rmz8ej4r85ka959f53pw', '{"answer":"deny","reason":"not on a Friday"}', 'actor_01mcc5rm00e3krjhpkbk9x1t6g', 'web', 1800000002000000, NULL);

INSERT INTO deliveries (ask, state, attempts, due_at, at, detail) VALUES
    ('ask_01mcc5rmz8fs2r81pqsrea7bxk', 'delivered', 1, 1800000009000000, 1800000004000000, '{"kind":"announced","event":"permission.replied"}'),
    ('ask_01mcc5rmz8ej4r85ka959f53pw', 'pending', 0, 1800000005000000, NULL, NULL);

INSERT INTO events (seq, at, workspace, body) VALUES
    (1, 1800000000000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"engine.changed","state":"starting","message":"opencode is starting"}'),
    (2, 1800000000000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"session.changed","session":"session_01mcc5rm00em2a9kqesq4kqdgz","activity":"busy"}'),
    (3, 1800000001000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"ask.opened","ask":"ask_01mcc5rmz8fs2r81pqsrea7bxk","session":"session_01mcc5rm00em2a9kqesq4kqdgz","tool":"bash"}'),
    (4, 1800000002000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"rule.changed","rule":"rule_01mcc5rnygfyvv08fg1472eck9"}'),
    (5, 1800000002000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"ask.changed","ask":"ask_01mcc5rmz8fs2r81pqsrea7bxk","session":"session_01mcc5rm00em2a9kqesq4kqdgz","state":"answered"}'),
    (6, 1800000004000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"ask.changed","ask":"ask_01mcc5rmz8fs2r81pqsrea7bxk","session":"session_01mcc5rm00em2a9kqesq4kqdgz","state":"delivered"}'),
    (7, 1800000001000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"ask.opened","ask":"ask_01mcc5rmz8ej4r85ka959f53pw","session":"session_01mcc5rm00em2a9kqesq4kqdgz","tool":"bash"}'),
    (8, 1800000005000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"ask.changed","ask":"ask_01mcc5rmz8ej4r85ka959f53pw","session":"session_01mcc5rm00em2a9kqesq4kqdgz","state":"answered"}'),
    (9, 1800000001000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"ask.opened","ask":"ask_01mcc5rmz8f779yp70wz9kmenv","session":"session_01mcc5rm00em2a9kqesq4kqdgz","tool":"bash"}'),
    (10, 1800000001000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"ask.opened","ask":"ask_01mcc5rmz8f60tk01qpdxg41xy","session":"session_01mcc5rm00em2a9kqesq4kqdgz","tool":"question"}'),
    (11, 1800000001000000, 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"type":"turn.changed","turn":"turn_01mcc5rm00e2q94faryd569dr4","session":"session_01mcc5rm00em2a9kqesq4kqdgz","ended":false}');

INSERT INTO audit (workspace, seq, at, actor, action, subject, detail, previous, hash) VALUES
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 1, 1800000000000000, 'countersign', 'workspace.add', 'ws_01mcc5rm00f0cv92grnd7vq2sy', '{"path":"/home/ada/project"}', '0000000000000000000000000000000000000000000000000000000000000000', 'a2d08d5acb01fedc9d2031468788c4fe17e78928944bcf660cf1f0f10734bc10'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 2, 1800000000000000, 'countersign', 'engine.start', 'run_01mcc5rm00ekxbkkf4nvpxafan', '{"program":"opencode"}', 'a2d08d5acb01fedc9d2031468788c4fe17e78928944bcf660cf1f0f10734bc10', 'b807c242fbad6d83492733d62aeef436dfd47bd77e3eadfbca33d5edb9c52b99'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 3, 1800000001000000, 'agent in session_01mcc5rm00em2a9kqesq4kqdgz (run_01mcc5rm00ekxbkkf4nvpxafan)', 'ask.open', 'ask_01mcc5rmz8fs2r81pqsrea7bxk', '{"digest":"905b411eded0c6873a5c71da5d4ebb3067177ec8f617d24a3dfec817d6b43304","previous":null,"tool":"bash"}', 'b807c242fbad6d83492733d62aeef436dfd47bd77e3eadfbca33d5edb9c52b99', '7a1f24679adaf0e8e8699cf4356630610b30dbbc7488b5ee967ce6fff9c025e2'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 4, 1800000002000000, 'person ada (actor_01mcc5rm00fzesayvja8vvtyz5)', 'rule.make', 'rule_01mcc5rnygfyvv08fg1472eck9', '{"expires_at":null,"from":"ask_01mcc5rmz8fs2r81pqsrea7bxk","matcher":{"match":"exact","targets":["git status"]},"session":null,"tool":"bash","verdict":"allow"}', '7a1f24679adaf0e8e8699cf4356630610b30dbbc7488b5ee967ce6fff9c025e2', '842678e05521577febf2f9a8191c9579e341a67a16217c57bd7f4f4378325967'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 5, 1800000002000000, 'person ada (actor_01mcc5rm00fzesayvja8vvtyz5)', 'ask.answer', 'ask_01mcc5rmz8fs2r81pqsrea7bxk', '{"choice":{"answer":"allow_always","scope":"workspace"},"digest":"905b411eded0c6873a5c71da5d4ebb3067177ec8f617d24a3dfec817d6b43304","rule":"rule_01mcc5rnygfyvv08fg1472eck9","surface":"web"}', '842678e05521577febf2f9a8191c9579e341a67a16217c57bd7f4f4378325967', '6728c1785e2454cf5b473f913e24be1390dae1d6f8bc54160b77d26aff8aeef1'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 6, 1800000004000000, 'countersign', 'delivery.proved', 'ask_01mcc5rmz8fs2r81pqsrea7bxk', '{"evidence":{"event":"permission.replied","kind":"announced"}}', '6728c1785e2454cf5b473f913e24be1390dae1d6f8bc54160b77d26aff8aeef1', '64e9eda06c688962749de72317a0107eff062b4276ee8f6b6374c3fca2316277'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 7, 1800000001000000, 'agent in session_01mcc5rm00em2a9kqesq4kqdgz (run_01mcc5rm00ekxbkkf4nvpxafan)', 'ask.open', 'ask_01mcc5rmz8ej4r85ka959f53pw', '{"digest":"136601615a5c4d2f8beb61e2423acaac16c58f59d366ac15d83a03cabcd8194c","previous":null,"tool":"bash"}', '64e9eda06c688962749de72317a0107eff062b4276ee8f6b6374c3fca2316277', 'fa33cd18d0ccd1cf0c2badeaca98b55c9d7c2b6f8de076a62b8d6bec77cd4b1b'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 8, 1800000005000000, 'person bob (actor_01mcc5rm00e3krjhpkbk9x1t6g)', 'ask.answer', 'ask_01mcc5rmz8ej4r85ka959f53pw', '{"choice":{"answer":"deny","reason":"not on a Friday"},"digest":"136601615a5c4d2f8beb61e2423acaac16c58f59d366ac15d83a03cabcd8194c","rule":null,"surface":"web"}', 'fa33cd18d0ccd1cf0c2badeaca98b55c9d7c2b6f8de076a62b8d6bec77cd4b1b', 'eaa4819c0596b2c8dd2deb775220eb51e6529dc7b0a322e3bca4fd74a784dc3b'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 9, 1800000001000000, 'agent in session_01mcc5rm00em2a9kqesq4kqdgz (run_01mcc5rm00ekxbkkf4nvpxafan)', 'ask.open', 'ask_01mcc5rmz8f779yp70wz9kmenv', '{"digest":"e1924fea051c525228bfec74c0d085a1df87e7a4d9c88c17cb0ef346c8850839","previous":null,"tool":"bash"}', 'eaa4819c0596b2c8dd2deb775220eb51e6529dc7b0a322e3bca4fd74a784dc3b', 'e496752fd1bd9744bc993e2524f148237c38d5af9e0ce51fb0e84917810d1dd4'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 10, 1800000001000000, 'agent in session_01mcc5rm00em2a9kqesq4kqdgz (run_01mcc5rm00ekxbkkf4nvpxafan)', 'ask.open', 'ask_01mcc5rmz8f60tk01qpdxg41xy', '{"digest":"bcb230975f5a2d7a86b60abe40db445ee9ab4a793b63cadf156482dcbaafe7a4","previous":null,"tool":"question"}', 'e496752fd1bd9744bc993e2524f148237c38d5af9e0ce51fb0e84917810d1dd4', '2f26eed8c3f1e69a093349c03aea4cb40554ae1b98625be3ca1a0cbe2fa44242'),
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 11, 1800000001000000, 'person ada (actor_01mcc5rm00fzesayvja8vvtyz5)', 'session.prompt', 'session_01mcc5rm00em2a9kqesq4kqdgz', '{"length":13,"turn":"turn_01mcc5rm00e2q94faryd569dr4"}', '2f26eed8c3f1e69a093349c03aea4cb40554ae1b98625be3ca1a0cbe2fa44242', '2ba8193693817063546441e132ae68ec580df5c4364c794d8d8bbfc239311a13');

INSERT INTO audit_heads (workspace, seq, hash) VALUES
    ('ws_01mcc5rm00f0cv92grnd7vq2sy', 11, '2ba8193693817063546441e132ae68ec580df5c4364c794d8d8bbfc239311a13');

UPDATE event_head SET seq = 11;

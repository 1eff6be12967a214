/*
 * The only place where text becomes markup, or the address of a script: where a browser has Trusted Types, the server's
 * policy lets nothing else do so. What is given out is for `dom.ts` and `state/app-shell.ts` alone, which give it texts of
 * the build and never an agent's.
 */
interface Rules {
  createHTML(text: string): string;
  createScriptURL(address: string): string;
}

const RULES: Rules = {
  createHTML: (text) => text,
  createScriptURL: (address) => {
    if (new URL(address, location.href).origin !== location.origin) throw new TypeError(address);
    return address;
  },
};

const { trustedTypes } = globalThis as { trustedTypes?: { createPolicy(name: string, rules: Rules): Rules } };

/** Strings to a browser without Trusted Types, and what stands for them to one that has them. */
export const trusted: Rules = trustedTypes?.createPolicy("countersign", RULES) ?? RULES;

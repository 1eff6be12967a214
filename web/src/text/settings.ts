/* What is set for a session, in words. */
import type { Alternative, Chosen, Selection, SettingName, SettingValue, Usage } from "../api/types.ts";
import { visible } from "./visible.ts";

const NUMBER = new Intl.NumberFormat("en");
/** Less than this is not counted out. */
const SMALLEST = 0.01;

/** `1,204 of 32,000 tokens · 0.12 USD` */
export function usageLine(usage: Usage): string {
  // How much fits is not known of every model.
  const tokens = `${NUMBER.format(usage.used)}${usage.size === 0 ? "" : ` of ${NUMBER.format(usage.size)}`} tokens`;
  const { cost } = usage;
  // What costs nothing is not worth a word.
  if (cost === undefined || cost.amount === 0) return tokens;
  const amount = cost.amount < SMALLEST ? `under ${SMALLEST}` : cost.amount.toFixed(2);
  return `${tokens} · ${amount} ${visible(cost.currency)}`;
}

/** What people read for the one of several that has this id. */
export function nameOf(selection: Selection, id: string): string {
  return visible(selection.choices.find((choice) => choice.id === id)?.name ?? id);
}

/** What somebody chose for a setting, if anybody did. */
export function chosenFor(chosen: readonly Chosen[], setting: SettingName): SettingValue | undefined {
  const same = (other: SettingName) =>
    typeof other === "string" || typeof setting === "string" ? other === setting : other.option === setting.option;
  return chosen.find((each) => same(each.setting))?.value;
}

/** The alternatives in stretches of one heading; those without one have none. */
export function grouped(choices: readonly Alternative[]): { group: string; choices: Alternative[] }[] {
  const groups: { group: string; choices: Alternative[] }[] = [];
  for (const choice of choices) {
    const group = choice.group ?? "";
    const last = groups.at(-1);
    if (last !== undefined && last.group === group) last.choices.push(choice);
    else groups.push({ group, choices: [choice] });
  }
  return groups;
}

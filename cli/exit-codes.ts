/** What a command ends with. */
export const exitCodes = {
  done: 0,
  error: 1,
  /** `plan`: something would change. `simulate`: not as expected, or an invariant is broken. */
  differs: 2,
} as const;

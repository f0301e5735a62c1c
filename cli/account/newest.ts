/** The one that started last. */
export const newestOf = <E extends { startedAt: string }>(executions: readonly E[]): E | undefined =>
  executions.toSorted((one, other) => one.startedAt.localeCompare(other.startedAt)).at(-1);

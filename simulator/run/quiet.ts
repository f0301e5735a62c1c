/** Powertools' own switches: a run invokes functions thousands of times, and nobody reads their logs. */
const quiet = {
  POWERTOOLS_LOG_LEVEL: 'SILENT',
  POWERTOOLS_METRICS_DISABLED: 'true',
  POWERTOOLS_TRACE_ENABLED: 'false',
  POWERTOOLS_SERVICE_NAME: 'imds-rollout',
};

/** Sets them while `run` runs, and puts back what was there. */
export async function quietly<T>(run: () => Promise<T>): Promise<T> {
  const before = Object.keys(quiet).map((name): [string, string | undefined] => [name, process.env[name]]);
  Object.assign(process.env, quiet);
  try {
    return await run();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  }
}

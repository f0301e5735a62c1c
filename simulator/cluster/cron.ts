/** Karpenter's budget schedules: five cron fields or a macro, in UTC. Source: robfig/cron ParseStandard. */

const macros: Record<string, string> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@annually': '0 0 1 1 *',
  '@yearly': '0 0 1 1 *',
};

const names: Record<string, string> = {
  sun: '0',
  mon: '1',
  tue: '2',
  wed: '3',
  thu: '4',
  fri: '5',
  sat: '6',
  jan: '1',
  feb: '2',
  mar: '3',
  apr: '4',
  may: '5',
  jun: '6',
  jul: '7',
  aug: '8',
  sep: '9',
  oct: '10',
  nov: '11',
  dec: '12',
};

function matches(field: string, value: number, low: number, high: number): boolean {
  return field
    .toLowerCase()
    .replace(/[a-z]+/g, (name) => names[name] ?? name)
    .split(',')
    .some((part) => {
      const [range = '*', step] = part.split('/');
      const [from, to] = range === '*' || range === '?' ? [low, high] : range.split('-').map(Number);
      const first = from ?? low;
      const last = to ?? (step === undefined ? first : high);
      return value >= first && value <= last && (value - first) % Number(step ?? 1) === 0;
    });
}

/** The first full minute after `from`, and not after `until`, that the schedule names. */
export function nextCronHit(schedule: string, from: Date, until: Date): Date | undefined {
  const [minute = '*', hour = '*', day = '*', month = '*', weekday = '*'] = (macros[schedule] ?? schedule)
    .trim()
    .split(/\s+/);
  const minuteMs = 60_000;
  for (
    let at = (Math.floor(from.getTime() / minuteMs) + 1) * minuteMs;
    at <= until.getTime();
    at += minuteMs
  ) {
    const date = new Date(at);
    if (!matches(minute, date.getUTCMinutes(), 0, 59) || !matches(hour, date.getUTCHours(), 0, 23)) continue;
    if (!matches(month, date.getUTCMonth() + 1, 1, 12)) continue;
    const ofMonth = matches(day, date.getUTCDate(), 1, 31);
    const ofWeek = matches(weekday, date.getUTCDay(), 0, 6);
    // Cron: where both days are restricted, either will do.
    const restricted = day !== '*' && weekday !== '*';
    if (restricted ? ofMonth || ofWeek : ofMonth && ofWeek) return date;
  }
  return undefined;
}

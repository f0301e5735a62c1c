/** Notices against their published schema, as whoever subscribes to them would read them. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const file = new URL('../schema/notice.schema.json', import.meta.url);
const published = z.fromJSONSchema(
  JSON.parse(readFileSync(file, 'utf8')) as Parameters<typeof z.fromJSONSchema>[0],
);

/** What is wrong with each that does not keep to it, and with each whose type is not its outcome's. */
export const wrongNotices = (
  notices: readonly { type: string; detail: Readonly<Record<string, unknown>> }[],
): string[] =>
  notices.flatMap(({ type, detail }) => {
    const { error } = published.safeParse(detail);
    return [
      ...(error === undefined ? [] : [`${type}: ${error.message}`]),
      ...(type === `IMDS Rollout ${String(detail['outcome'])}` ? [] : [`${type} is not the outcome's type`]),
    ];
  });

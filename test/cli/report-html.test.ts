import { describe, expect, it } from 'vitest';
import { reportHtml } from '../../rollout/report-html.ts';
import type { Report } from '../../rollout/report.ts';

const evil = `<script>alert("x")</script>&'`;
const at = '2026-03-02T09:00:00Z';

const report: Report = {
  schemaVersion: 1,
  rack: evil,
  cluster: null,
  execution: `demo-1${evil}`,
  asked: [{ key: evil, value: evil, version: 1, date: at, user: evil }],
  generation: null,
  plan: null,
  approval: null,
  class: { name: evil, before: { httpTokens: evil }, after: {}, resourceVersions: [evil] },
  instances: [
    {
      node: evil,
      instanceId: evil,
      before: null,
      after: { httpTokens: evil },
      readAt: at,
      how: 'modified',
      why: evil,
    },
  ],
  builds: [],
  holds: [{ node: evil, at, protected: true, cordoned: false, why: evil }],
  blockers: [{ node: evil, why: evil }],
  stragglers: [{ node: evil, instanceId: evil, modifiedAt: at, why: evil, builds: [evil] }],
  unknowns: [evil],
  calls: { [evil]: 1 },
  cost: { stateTransitions: 3, usd: 0.000075 },
  outcome: 'Succeeded',
  reason: evil,
  timeline: [{ at, what: evil }],
};

describe('the page of a report', () => {
  const page = reportHtml(report);

  it('escapes everything', () => {
    expect(page).not.toContain('<script');
    expect(page).not.toContain('alert("x")');
    expect(
      page.match(/&lt;script&gt;alert\(&quot;x&quot;\)&lt;\/script&gt;&amp;&#39;/g)?.length,
    ).toBeGreaterThan(20);
  });

  it('needs nothing from outside', () => {
    expect(page).not.toMatch(/\b(src|href)=|url\(|@import|https?:/);
  });

  it('has a section for what there is, and none for what there is not', () => {
    expect(page).toContain('<h2>Stragglers');
    expect(page).not.toContain('<h2>Builds');
    expect(page).not.toContain('[object');
    expect(page).not.toContain('undefined');
  });

  it('can be printed', () => {
    expect(page).toContain('@media print');
  });
});

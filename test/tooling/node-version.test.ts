import { expect, test } from 'vitest';

test('the tests run on the Node that the Lambdas run on', () => {
  expect(process.versions.node).toMatch(/^24\./);
});

/** What IAM says that a role may do, without anything being tried. */
import { paginateSimulatePrincipalPolicy, type EvaluationResult, type IAMClient } from '@aws-sdk/client-iam';
import { calling } from '../../adapters/aws-errors.ts';

/** Actions on one resource. */
export interface Wanted {
  actions: readonly string[];
  /** An ARN, or `*`. */
  resource: string;
  /** Condition keys with what they would be at the call; those that may have several values, as a list. */
  context: Readonly<Record<string, string | readonly string[]>>;
}

export interface Refused {
  action: string;
  resource: string;
  /** Whose no it is. */
  by: 'the role’s policies' | 'an explicit deny' | 'an organisation policy' | 'a permissions boundary';
}

export interface Permissions {
  /** What of it the role may not. Throws ForbiddenError where this person may not ask. */
  refused(role: string, wanted: Wanted): Promise<Refused[]>;
}

export const createPermissions = (iam: IAMClient): Permissions => ({
  refused: (role, { actions, resource, context }) =>
    calling('iam:SimulatePrincipalPolicy', role, async () => {
      const results: EvaluationResult[] = [];
      const pages = paginateSimulatePrincipalPolicy(
        { client: iam },
        {
          PolicySourceArn: role,
          ActionNames: [...actions],
          ResourceArns: [resource],
          ContextEntries: Object.entries(context).map(([ContextKeyName, value]) => ({
            ContextKeyName,
            ContextKeyType: typeof value === 'string' ? 'string' : 'stringList',
            ContextKeyValues: [value].flat(),
          })),
        },
      );
      for await (const { EvaluationResults = [] } of pages) results.push(...EvaluationResults);
      return actions.flatMap((action) => {
        const found = results.find(({ EvalActionName }) => EvalActionName === action);
        return found?.EvalDecision === 'allowed' ? [] : [{ action, resource, by: whose(found) }];
      });
    }),
});

function whose(result: EvaluationResult | undefined): Refused['by'] {
  if (result?.OrganizationsDecisionDetail?.AllowedByOrganizations === false) return 'an organisation policy';
  if (result?.PermissionsBoundaryDecisionDetail?.AllowedByPermissionsBoundary === false)
    return 'a permissions boundary';
  return result?.EvalDecision === 'explicitDeny' ? 'an explicit deny' : 'the role’s policies';
}

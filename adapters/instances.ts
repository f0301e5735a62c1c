/** EC2: the instances of a class and their metadata options. */
import {
  EC2Client,
  GetInstanceMetadataDefaultsCommand,
  ModifyInstanceMetadataOptionsCommand,
  paginateDescribeInstances,
  type Filter,
  type Instance as Ec2Instance,
} from '@aws-sdk/client-ec2';
import { z } from 'zod';
import type { AccountMetadataDefaults, Instance, MetadataOptions } from '../rollout/ec2.ts';
import type { Instances } from '../rollout/ports.ts';
import { awsClient, type AwsConnection } from './aws-client.ts';
import { calling } from './aws-errors.ts';

/** The most that one page has, and that one filter takes (Amazon EC2 API Reference, DescribeInstances). */
const PAGE = 1000;
const VALUES = 200;

const states = ['pending', 'running', 'stopping', 'stopped', 'shutting-down'] as const;

export const ec2Instances = (connection?: AwsConnection): Instances =>
  createInstances(new EC2Client(awsClient(connection)));

export function createInstances(client: EC2Client): Instances {
  const describe = (target: string, filter: Filter[]): Promise<Instance[]> =>
    calling('ec2:DescribeInstances', target, async () => {
      const found: Instance[] = [];
      // Paginated and filtered, so that EC2 takes it from the larger of its buckets. Terminated instances linger.
      const pages = paginateDescribeInstances(
        { client, pageSize: PAGE },
        {
          Filters: [...filter, { Name: 'instance-state-name', Values: [...states] }],
          IncludeManagedResources: true,
        },
      );
      for await (const { Reservations = [] } of pages) {
        for (const { Instances: members = [] } of Reservations) {
          for (const member of members) found.push(...instance(member));
        }
      }
      return found;
    });

  return {
    async find({ cluster, nodeClass, instanceIds }) {
      // Set by Karpenter in CreateFleet itself; `karpenter.sh/nodeclaim` comes only after registration.
      const tagged = await describe(`instances of ${nodeClass} in ${cluster}`, [
        { Name: 'tag:eks:eks-cluster-name', Values: [cluster] },
        { Name: 'tag:karpenter.k8s.aws/ec2nodeclass', Values: [nodeClass] },
      ]);
      const all = new Map(tagged.map((one) => [one.instanceId, one]));
      const missing = [...new Set(instanceIds)].filter((id) => !all.has(id));
      for (let at = 0; at < missing.length; at += VALUES) {
        const ids = missing.slice(at, at + VALUES);
        // A filter, not InstanceIds: one id that EC2 no longer knows would fail the whole call there.
        const named = await describe(`${String(ids.length)} instances by id`, [
          { Name: 'instance-id', Values: ids },
        ]);
        for (const one of named) all.set(one.instanceId, one);
      }
      return [...all.values()];
    },
    modifyMetadataOptions: async (instanceId, options) => {
      await calling('ec2:ModifyInstanceMetadataOptions', instanceId, () =>
        client.send(
          new ModifyInstanceMetadataOptionsCommand({
            InstanceId: instanceId,
            HttpTokens: options.httpTokens,
            HttpPutResponseHopLimit: options.httpPutResponseHopLimit,
            HttpEndpoint: options.httpEndpoint,
            HttpProtocolIpv6: options.httpProtocolIpv6,
            InstanceMetadataTags: options.instanceMetadataTags,
          }),
        ),
      );
    },
    accountDefaults: () =>
      calling('ec2:GetInstanceMetadataDefaults', 'this account', async () => {
        const { AccountLevel } = await client.send(new GetInstanceMetadataDefaultsCommand({}));
        const managedBy = managers.find((manager) => manager === AccountLevel?.ManagedBy);
        const defaults: AccountMetadataDefaults = {
          httpTokensEnforced: AccountLevel?.HttpTokensEnforced === 'enabled',
          ...(managedBy !== undefined && { managedBy }),
        };
        return defaults;
      }),
  };
}

const managers = ['account', 'declarative-policy'] as const;

/** None where EC2 shows what is no instance to a rollout: terminated, or in a state that it does not know. */
function instance({ InstanceId, State, LaunchTime, MetadataOptions, Tags = [] }: Ec2Instance): Instance[] {
  const state = states.find((known) => known === State?.Name);
  if (InstanceId === undefined || state === undefined || LaunchTime === undefined) return [];
  const metadataOptions = options(MetadataOptions);
  return [
    {
      instanceId: InstanceId,
      state,
      launchTime: LaunchTime.toISOString(),
      ...(metadataOptions !== undefined && { metadataOptions }),
      tags: Object.fromEntries(Tags.map(({ Key = '', Value = '' }) => [Key, Value])),
    },
  ];
}

const setting = z.enum(['enabled', 'disabled']);
const optionsSchema = z.object({
  State: z.enum(['pending', 'applied']),
  HttpTokens: z.enum(['optional', 'required']),
  HttpPutResponseHopLimit: z.int(),
  HttpEndpoint: setting,
  HttpProtocolIpv6: setting.optional(),
  InstanceMetadataTags: setting.optional(),
});

/** undefined, which is unknown and never right, where EC2 left something out or says what no one here can judge. */
function options(answered: Ec2Instance['MetadataOptions']): MetadataOptions | undefined {
  const { data } = optionsSchema.safeParse(answered);
  if (data === undefined) return undefined;
  return {
    state: data.State,
    httpTokens: data.HttpTokens,
    httpPutResponseHopLimit: data.HttpPutResponseHopLimit,
    httpEndpoint: data.HttpEndpoint,
    ...(data.HttpProtocolIpv6 !== undefined && { httpProtocolIpv6: data.HttpProtocolIpv6 }),
    ...(data.InstanceMetadataTags !== undefined && { instanceMetadataTags: data.InstanceMetadataTags }),
  };
}

/** moto for the length of a run, with what Karpenter and the product need of an account in it. */
import {
  CreateSecurityGroupCommand,
  CreateTagsCommand,
  DescribeImagesCommand,
  DescribeSubnetsCommand,
  DescribeVpcsCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import {
  AddRoleToInstanceProfileCommand,
  CreateInstanceProfileCommand,
  CreateRoleCommand,
  IAMClient,
} from '@aws-sdk/client-iam';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { freePort, start, until, type Part } from './processes.ts';

export interface Account {
  endpoint: string;
  part: Part;
  /** An image that Karpenter accepts. */
  imageId: string;
}

/** The value of the tag `karpenter.sh/discovery`, and the names in IAM and S3. */
export const DISCOVERY = 'it';
export const INSTANCE_PROFILE = 'build-nodes';
export const BUCKET = 'reports';

export async function startAccount(moto: string, region: string): Promise<Account> {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const part = start({ name: 'moto', command: moto, args: ['-H', '127.0.0.1', '-p', String(port)] });
  const connection = { region, endpoint };
  const ec2 = new EC2Client(connection);
  try {
    const { Subnets = [] } = await until('moto answers', [part], () =>
      ec2.send(new DescribeSubnetsCommand({})),
    );
    const { Vpcs = [] } = await ec2.send(new DescribeVpcsCommand({}));
    const { GroupId } = await ec2.send(
      new CreateSecurityGroupCommand({
        GroupName: 'nodes',
        Description: 'nodes',
        VpcId: Vpcs[0]?.VpcId,
      }),
    );
    const resources = [GroupId, ...Subnets.map(({ SubnetId }) => SubnetId)];
    await ec2.send(
      new CreateTagsCommand({
        Resources: resources.filter((id) => id !== undefined),
        Tags: [{ Key: 'karpenter.sh/discovery', Value: DISCOVERY }],
      }),
    );
    const { Images = [] } = await ec2.send(new DescribeImagesCommand({}));
    const image = Images.find(
      ({ Architecture, Platform, State }) =>
        Architecture === 'x86_64' && Platform !== 'Windows' && State === 'available',
    );
    const iam = new IAMClient(connection);
    await iam.send(new CreateRoleCommand({ RoleName: INSTANCE_PROFILE, AssumeRolePolicyDocument: '{}' }));
    await iam.send(new CreateInstanceProfileCommand({ InstanceProfileName: INSTANCE_PROFILE }));
    await iam.send(
      new AddRoleToInstanceProfileCommand({
        InstanceProfileName: INSTANCE_PROFILE,
        RoleName: INSTANCE_PROFILE,
      }),
    );
    await new S3Client(connection).send(
      new CreateBucketCommand({
        Bucket: BUCKET,
        CreateBucketConfiguration: { LocationConstraint: 'eu-west-1' },
      }),
    );
    return { endpoint, part, imageId: image?.ImageId ?? '' };
  } catch (error) {
    await part.end();
    throw error;
  }
}

/** Rollouts that meet something on the way, and the product as it is packaged: in a cluster of their own. */
import { worldOf } from './on-karpenter.ts';
import { ends, racksOfEnds } from './suites/ends.ts';
import { packaged, racksOfPackaged } from './suites/packaged.ts';
import { pools, racksOfPools } from './suites/pools.ts';

const world = worldOf('obstacles', [...racksOfPools, ...racksOfEnds, ...racksOfPackaged]);

pools(world);
ends(world);
packaged(world);

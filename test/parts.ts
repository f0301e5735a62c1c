// `npm run parts`: what `test:aws` and `test:karpenter` run on, into .cache/. They build what is missing by themselves;
// where they run side by side, it has to be there before.
import { installMinistack } from './aws/python.ts';
import { buildAll } from './karpenter/build.ts';

buildAll('parts');
installMinistack('parts');

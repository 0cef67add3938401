// What clients talk to.
'use strict';

const settings = require('./settings');
const { run } = require('./component');

const common = { ...settings.common(), ...settings.listening() };
const own = common.transport === 'rest' ? settings.calling() : settings.messaging();
run({ ...common, ...own }, () => require('./workers/front'));

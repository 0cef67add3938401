// One of the shop's services: `service NAME`.
'use strict';

const settings = require('./settings');
const { run } = require('./component');

const common = { ...settings.common(), ...settings.storing(), ...settings.logic() };
const own = common.transport === 'rest' ? { ...settings.listening(), ...settings.calling() } : settings.messaging();
run({ ...common, ...own }, () => require('./workers/service'));

// How passwords are kept. Cheaper than a real shop should have it, so that logging in is not all that is measured.
'use strict';

const SCRYPT = { N: 1024, r: 8, p: 1, length: 32 };

module.exports = { SCRYPT };

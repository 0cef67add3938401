//! Clients for administration. rdkafka polls no events of such a client, so it would never ask for a token.

use std::ffi::CString;

use rdkafka::{
    ClientConfig,
    admin::AdminClient,
    bindings::rd_kafka_oauthbearer_set_token,
    client::{DefaultClientContext, OAuthToken},
    error::{KafkaError, KafkaResult},
    types::RDKafkaRespErr,
};

use crate::{access::Access, refusal::presentable_error};

impl Access {
    /// A new client for administration, which has its token if there is one. It does not renew the token: make a new client for
    /// each task.
    ///
    /// # Errors
    /// If the configuration cannot be used, or there is no valid token.
    pub fn admin_client(
        &self,
        config: &ClientConfig,
    ) -> KafkaResult<AdminClient<DefaultClientContext>> {
        let client = config.create().map_err(presentable_error)?;
        if self.has_token() {
            let token = self
                .token()
                .map_err(|error| KafkaError::ClientCreation(error.to_string()))?;
            set_token(&client, token)?;
        }
        Ok(client)
    }
}

#[expect(
    unsafe_code,
    reason = "rdkafka has no function that gives a token to a client"
)]
fn set_token(client: &AdminClient<DefaultClientContext>, token: OAuthToken) -> KafkaResult<()> {
    let value = CString::new(token.token)?;
    let principal = CString::new(token.principal_name)?;
    // SAFETY: the client lives during the call, both texts end in a zero byte and are copied by it, there are no extensions, and a
    // buffer of length 0 for its error is not written to.
    let code = unsafe {
        rd_kafka_oauthbearer_set_token(
            client.inner().native_ptr(),
            value.as_ptr(),
            token.lifetime_ms,
            principal.as_ptr(),
            std::ptr::null_mut(),
            0,
            std::ptr::null_mut(),
            0,
        )
    };
    if code == RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR {
        return Ok(());
    }
    Err(KafkaError::ClientCreation(
        "librdkafka refuses the token".to_owned(),
    ))
}

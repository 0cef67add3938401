//! The engine's kinds of failures in the form of the results.

use waggle_load::{Failure, HandshakeFailure, InspectionFailure};
use waggle_results::FailureKind;

/// A failure of the engine, in the form of the results.
pub fn failure_kind(failure: Failure) -> FailureKind {
    match failure {
        Failure::Refused => FailureKind::Refused,
        Failure::ConnectFailed => FailureKind::ConnectFailed,
        Failure::NoPort => FailureKind::NoPort,
        Failure::Reset => FailureKind::Reset,
        Failure::TimedOut => FailureKind::TimedOut,
        Failure::Status(status) => FailureKind::Status(status),
        Failure::Malformed => FailureKind::Malformed,
        Failure::WrongBody => FailureKind::WrongBody,
        Failure::Handshake(failure) => handshake_failure_kind(failure),
        Failure::Protocol => FailureKind::Protocol,
        Failure::UnsolicitedAnswer => FailureKind::UnsolicitedAnswer,
        Failure::CheckFailed => FailureKind::CheckFailed,
        Failure::NotCaptured => FailureKind::NotCaptured,
        Failure::BodyNotKept => FailureKind::BodyNotKept,
        Failure::TooManyRounds => FailureKind::TooManyRounds,
        Failure::ClientEnded => FailureKind::ClientEnded,
        Failure::Inspection(failure) => inspection_failure_kind(failure),
    }
}

fn inspection_failure_kind(failure: InspectionFailure) -> FailureKind {
    match failure {
        InspectionFailure::Truncated => FailureKind::AnswerTruncated,
        InspectionFailure::InvalidEncoding => FailureKind::InvalidEncoding,
        InspectionFailure::UnknownEncoding => FailureKind::UnknownEncoding,
        InspectionFailure::NotJson => FailureKind::NotJson,
        InspectionFailure::NoArray => FailureKind::ArrayMissing,
    }
}

fn handshake_failure_kind(failure: HandshakeFailure) -> FailureKind {
    match failure {
        HandshakeFailure::UnknownIssuer => FailureKind::HandshakeUnknownIssuer,
        HandshakeFailure::Expired => FailureKind::HandshakeExpired,
        HandshakeFailure::WrongName => FailureKind::HandshakeWrongName,
        HandshakeFailure::NotYetValid => FailureKind::HandshakeNotYetValid,
        HandshakeFailure::CaCertificate => FailureKind::HandshakeCaCertificate,
        HandshakeFailure::Algorithm => FailureKind::HandshakeAlgorithm,
        HandshakeFailure::ClientCertificate => FailureKind::HandshakeClientCertificate,
        HandshakeFailure::NoVersion => FailureKind::HandshakeNoVersion,
        HandshakeFailure::NoCipher => FailureKind::HandshakeNoCipher,
        HandshakeFailure::Certificate => FailureKind::HandshakeCertificate,
        HandshakeFailure::NoProtocol => FailureKind::HandshakeNoProtocol,
        HandshakeFailure::Refused => FailureKind::HandshakeRefused,
        HandshakeFailure::Cut => FailureKind::HandshakeCut,
        HandshakeFailure::TimedOut => FailureKind::HandshakeTimedOut,
        HandshakeFailure::Malformed => FailureKind::HandshakeMalformed,
    }
}

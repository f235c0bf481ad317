internal import COpenSSL

/// Why libcrypto, or a rule of this module about its input, refused something.
///
/// None of these can be cured by trying again.
package struct OpenSSLError: Error, Hashable, CustomStringConvertible {
    /// What was refused.
    package struct Code: Hashable, Sendable {
        private enum Kind {
            case malformedCertificate, trailingBytes, malformedKey, unsupportedKey, invalidCertificateRequest, signingFailed
        }
        private let kind: Kind

        /// The bytes are not one X.509 certificate in DER, or an extension in it is malformed or doubled.
        package static let malformedCertificate = Self(kind: .malformedCertificate)
        /// Something follows the DER of a certificate.
        package static let trailingBytes = Self(kind: .trailingBytes)
        /// The bytes are not a key in the expected encoding; an encrypted PEM key is one of these.
        package static let malformedKey = Self(kind: .malformedKey)
        /// The key is of a kind that this operation cannot use.
        package static let unsupportedKey = Self(kind: .unsupportedKey)
        /// A certificate cannot be built from these values.
        package static let invalidCertificateRequest = Self(kind: .invalidCertificateRequest)
        /// libcrypto could not sign.
        package static let signingFailed = Self(kind: .signingFailed)
    }

    /// What was refused.
    package var code: Code
    /// What is wrong, for a person; never holds input bytes.
    package var message: String
    /// libcrypto's own reason, when it gave one.
    package var cause: String?

    /// Always false: the same input fails again.
    package var isRetryable: Bool { false }

    package var description: String {
        cause.map { "\(message) (\($0))" } ?? message
    }

    init(_ code: Code, _ message: String, cause: String? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The error for a libcrypto call that just failed; takes the reason from this thread's error queue and empties it.
    static func afterFailure(_ code: Code, _ message: String) -> Self {
        Self(code, message, cause: takeReason())
    }

    /// The newest reason in this thread's error queue, which is empty afterwards, so that no later failure is blamed on it.
    static func takeReason() -> String? {
        let newest = ERR_peek_last_error()
        ERR_clear_error()
        return newest == 0 ? nil : ERR_reason_error_string(newest).map { String(cString: $0) }
    }
}

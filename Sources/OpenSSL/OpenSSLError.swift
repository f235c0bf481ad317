internal import COpenSSL

/// Why libcrypto or this module refused an input. A retry never helps.
package struct OpenSSLError: Error, Hashable, CustomStringConvertible {
    /// The kind of a refusal.
    package struct Code: Hashable, Sendable {
        private enum Kind {
            case malformedCertificate, trailingBytes, malformedKey, unsupportedKey, invalidCertificateRequest, signingFailed, ocspFailed
        }
        private let kind: Kind

        /// The bytes are not one X.509 certificate in DER, or an extension in it is malformed or duplicate.
        package static let malformedCertificate = Self(kind: .malformedCertificate)
        /// Bytes follow the DER of a certificate or key, or a PEM text contains several certificates instead of one.
        package static let trailingBytes = Self(kind: .trailingBytes)
        /// The bytes are not a key in the expected encoding, or the PEM key is encrypted.
        package static let malformedKey = Self(kind: .malformedKey)
        /// The operation does not support this kind of key.
        package static let unsupportedKey = Self(kind: .unsupportedKey)
        /// No certificate can be built from these values.
        package static let invalidCertificateRequest = Self(kind: .invalidCertificateRequest)
        /// libcrypto could not sign.
        package static let signingFailed = Self(kind: .signingFailed)
        /// libcrypto could not write an OCSP request or answer.
        package static let ocspFailed = Self(kind: .ocspFailed)
    }

    package var code: Code
    /// What is wrong, for a reader; never contains input bytes.
    package var message: String
    /// libcrypto's reason, if it gave one.
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

    /// The error for a failed libcrypto call; takes the reason from this thread's error queue and empties the queue.
    static func afterFailure(_ code: Code, _ message: String) -> Self {
        Self(code, message, cause: takeReason())
    }

    /// Takes the newest reason and empties this thread's error queue, so that later failures do not report it.
    private static func takeReason() -> String? {
        let newest = ERR_peek_last_error()
        ERR_clear_error()
        return newest == 0 ? nil : ERR_reason_error_string(newest).map { String(cString: $0) }
    }
}

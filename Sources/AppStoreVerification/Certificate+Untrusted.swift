internal import AppStore
internal import OpenSSL

/// Why a certificate of a JWS or a receipt cannot be used, before its chain is validated.
enum UnreadableCertificate: Error, CustomStringConvertible {
    /// Refused without libcrypto.
    case form(CertificateForm.Refusal)
    /// Refused by libcrypto.
    case content(OpenSSLError)

    /// Whether the key is the reason, and not the encoding or the size.
    var isKeyUnsupported: Bool {
        switch self {
        case .form(.tooLarge), .form(.notDER), .content: false
        case .form: true
        }
    }

    var reason: VerificationReason {
        if isKeyUnsupported { return .certificateKeyUnsupported }
        if case .content(let error) = self, error.code == .trailingBytes { return .certificateTrailingBytes }
        return .certificateMalformed
    }

    var description: String {
        switch self {
        case .form(let refusal): "\(refusal)"
        case .content(let error): "\(error)"
        }
    }
}

extension Certificate {
    /// Reads one certificate in DER that may be forged: libcrypto sees it only if ``CertificateForm`` accepts it.
    convenience init(untrusted der: [UInt8]) throws(UnreadableCertificate) {
        do throws(CertificateForm.Refusal) {
            try CertificateForm.check(der)
        } catch {
            throw .form(error)
        }
        do throws(OpenSSLError) {
            try self.init(der: der)
        } catch {
            throw .content(error)
        }
    }
}

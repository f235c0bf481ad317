internal import COpenSSL

/// The allowed uses of a certificate's key (RFC 5280 §4.2.1.3).
package struct KeyUsage: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Signatures over anything but certificates and revocation lists.
    package static let digitalSignature = Self(rawValue: UInt32(KU_DIGITAL_SIGNATURE))
    /// Signatures over certificates.
    package static let keyCertSign = Self(rawValue: UInt32(KU_KEY_CERT_SIGN))
    /// Signatures over revocation lists.
    package static let crlSign = Self(rawValue: UInt32(KU_CRL_SIGN))
}

extension Certificate {
    /// Whether basic constraints say that this is a certificate authority (RFC 5280 §4.2.1.9).
    package var isCA: Bool { X509_get_extension_flags(handle) & UInt32(EXFLAG_CA) != 0 }

    /// The key usage; nil when the certificate does not restrict it.
    package var keyUsage: KeyUsage? {
        guard X509_get_extension_flags(handle) & UInt32(EXFLAG_KUSAGE) != 0 else { return nil }
        return KeyUsage(rawValue: X509_get_key_usage(handle))
    }

    /// Whether `time`, in seconds since 1970, lies in the validity period, its ends included.
    package func isValid(at time: Int64) -> Bool { notBefore <= time && time <= notAfter }

    /// Whether subject and issuer have the same name and the key identifiers do not differ, as in a root. The signature is not checked.
    package var isSelfSigned: Bool { X509_get_extension_flags(handle) & UInt32(EXFLAG_SS) != 0 }

    /// Whether there is an extension with this dotted object identifier, critical or not.
    package func hasExtension(oid: String) -> Bool {
        defer { ERR_clear_error() }
        guard let object = OBJ_txt2obj(oid, 1) else { return false }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(handle, object, -1) >= 0
    }
}

internal import COpenSSL

/// The contents of a new certificate, for the private certificate authorities of tests and the simulator.
package struct CertificateBuilder: Sendable {
    /// An extension with any object identifier.
    package struct Extension: Hashable, Sendable {
        /// Dotted object identifier.
        package var oid: String
        /// Whether a verifier that does not know the extension must refuse the certificate.
        package var isCritical: Bool
        /// The DER inside the extension's octet string; `[0x05, 0x00]` is NULL, as in Apple's markers.
        package var value: [UInt8]

        package init(oid: String, isCritical: Bool = false, value: [UInt8] = [0x05, 0x00]) {
            self.oid = oid
            self.isCritical = isCritical
            self.value = value
        }
    }

    package var subject: DistinguishedName
    /// Big-endian and positive; RFC 5280 allows 20 bytes.
    package var serialNumber: [UInt8]
    /// The first second of the validity period, since 1970.
    package var notBefore: Int64
    /// The last second of the validity period, since 1970.
    package var notAfter: Int64
    /// The value of basic constraints, a critical extension.
    package var isCA = false
    /// How many authorities may follow below this one; only for authorities.
    package var pathLength: Int?
    /// Nil omits the extension.
    package var keyUsage: KeyUsage?
    /// Added in order, after the standard ones.
    package var extensions: [Extension] = []
    /// The digest of the signature; nil uses the default of the issuer's key.
    package var digest: SignatureDigest?

    package init(subject: DistinguishedName, serialNumber: [UInt8], notBefore: Int64, notAfter: Int64) {
        self.subject = subject
        self.serialNumber = serialNumber
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// Makes a root, signed with its own key.
    package func selfSigned(by key: PrivateKey) throws(OpenSSLError) -> Certificate {
        try build(for: key.publicKey, issuer: nil, key: key)
    }

    /// Makes a certificate for `key`, signed with `issuerKey` and with `issuer`'s subject as its issuer.
    ///
    /// Does not check that `issuerKey` belongs to `issuer`, nor that `issuer` may issue: tests need invalid certificates.
    package func issued(for key: PublicKey, by issuer: Certificate, key issuerKey: PrivateKey) throws(OpenSSLError) -> Certificate {
        try build(for: key, issuer: issuer, key: issuerKey)
    }

    private func build(for subjectKey: PublicKey, issuer: Certificate?, key: PrivateKey) throws(OpenSSLError) -> Certificate {
        guard let handle = X509_new() else { throw .afterFailure(.invalidCertificateRequest, "out of memory for a certificate") }
        do throws(OpenSSLError) {
            try require(X509_set_version(handle, Int(X509_VERSION_3)) == 1, "version")
            try setSerialNumber(handle)
            try require(ASN1_TIME_set(X509_getm_notBefore(handle), Int(notBefore)) != nil, "notBefore")
            try require(ASN1_TIME_set(X509_getm_notAfter(handle), Int(notAfter)) != nil, "notAfter")
            try require(subject.write(to: X509_get_subject_name(handle)), "subject")
            try require(X509_set_issuer_name(handle, X509_get_subject_name(issuer?.handle ?? handle)) == 1, "issuer")
            try require(X509_set_pubkey(handle, subjectKey.handle) == 1, "public key")
            try addExtensions(handle, issuer: issuer)
            let digest = digest?.messageDigest ?? key.defaultDigest
            try require(X509_sign(handle, key.handle, digest.handle) > 0, "signature")
        } catch {
            X509_free(handle)
            throw error
        }
        return try Certificate(owning: handle)
    }

    private func setSerialNumber(_ handle: OpaquePointer) throws(OpenSSLError) {
        let number = BN_bin2bn(serialNumber, Int32(clamping: serialNumber.count), nil)
        defer { BN_free(number) }
        try require(number != nil && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(handle)) != nil, "serial number")
    }

    private func addExtensions(_ handle: OpaquePointer, issuer: Certificate?) throws(OpenSSLError) {
        func add(_ nid: Int32, _ value: String) throws(OpenSSLError) {
            try require(COpenSSL_X509_add_extension(handle, issuer?.handle ?? handle, nid, value) == 1, String(cString: OBJ_nid2ln(nid)))
        }
        let pathLength = pathLength.map { ",pathlen:\($0)" } ?? ""
        try add(NID_basic_constraints, isCA ? "critical,CA:TRUE\(pathLength)" : "critical,CA:FALSE")
        if let keyUsage { try add(NID_key_usage, "critical,\(keyUsage.configuration)") }
        try add(NID_subject_key_identifier, "hash")
        if issuer != nil { try add(NID_authority_key_identifier, "keyid:always") }
        for item in extensions { try addExtension(item, to: handle) }
    }

    private func addExtension(_ item: Extension, to handle: OpaquePointer) throws(OpenSSLError) {
        let object = OBJ_txt2obj(item.oid, 1)
        defer { ASN1_OBJECT_free(object) }
        let octets = ASN1_OCTET_STRING_new()
        defer { ASN1_OCTET_STRING_free(octets) }
        try require(ASN1_OCTET_STRING_set(octets, item.value, Int32(clamping: item.value.count)) == 1, "extension \(item.oid)")
        let made = X509_EXTENSION_create_by_OBJ(nil, object, item.isCritical ? 1 : 0, octets)
        defer { X509_EXTENSION_free(made) }
        try require(object != nil && made != nil && X509_add_ext(handle, made, -1) == 1, "extension \(item.oid)")
    }

    private func require(_ condition: Bool, _ part: String) throws(OpenSSLError) {
        guard condition else { throw .afterFailure(.invalidCertificateRequest, "the \(part) of a new certificate cannot be set") }
    }
}

extension KeyUsage {
    /// The names of x509v3_config(5).
    fileprivate var configuration: String {
        let names: [(KeyUsage, String)] = [(.digitalSignature, "digitalSignature"), (.keyCertSign, "keyCertSign"), (.crlSign, "cRLSign")]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ",")
    }
}

/// The name of a certificate's subject, with the attributes that certificate authorities commonly use.
package struct DistinguishedName: Hashable, Sendable {
    /// CN.
    package var commonName: String
    /// OU.
    package var organizationalUnit: String?
    /// O.
    package var organization: String?
    /// C, two letters.
    package var country: String?

    package init(commonName: String, organizationalUnit: String? = nil, organization: String? = nil, country: String? = nil) {
        self.commonName = commonName
        self.organizationalUnit = organizationalUnit
        self.organization = organization
        self.country = country
    }

    /// Writes the attributes into a libcrypto name; false when one is empty, too long or not of its alphabet.
    fileprivate func write(to name: OpaquePointer?) -> Bool {
        let attributes = [("CN", commonName), ("OU", organizationalUnit), ("O", organization), ("C", country)]
        return attributes.allSatisfy { field, value in
            guard let value else { return true }
            let bytes = Array(value.utf8)
            guard let count = Int32(exactly: bytes.count) else { return false }
            return X509_NAME_add_entry_by_txt(name, field, MBSTRING_FLAG | 0, bytes, count, -1, 0) == 1
        }
    }
}

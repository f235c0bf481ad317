internal import COpenSSL

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
    func write(to name: OpaquePointer?) -> Bool {
        let attributes = [("CN", commonName), ("OU", organizationalUnit), ("O", organization), ("C", country)]
        return attributes.allSatisfy { field, value in
            guard let value else { return true }
            let bytes = Array(value.utf8)
            guard let count = Int32(exactly: bytes.count) else { return false }
            return X509_NAME_add_entry_by_txt(name, field, MBSTRING_FLAG | 0, bytes, count, -1, 0) == 1
        }
    }
}

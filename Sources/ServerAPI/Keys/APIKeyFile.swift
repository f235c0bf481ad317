import OpenSSL

/// Reads an In-App Purchase key as App Store Connect names and writes it: `SubscriptionKey_<key id>.p8` of an issuer.
package enum APIKeyFile {
    /// Why a file is no such key; completes a sentence that begins with its path. Holds nothing of the content.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String

        init(description: String) {
            self.description = description
        }

        /// Two files hold a key of this name.
        package init(repeated id: APIKey.ID) {
            description = "is a second file of \(id)"
        }
    }

    /// The issuer and key id in a file's names.
    ///
    /// - Parameter name: of the file.
    package static func id(issuer: String, name: String) throws(Unusable) -> APIKey.ID {
        guard let issuer = uuid(issuer) else {
            throw Unusable(description: "must be in a folder named by the issuer id of App Store Connect, a UUID")
        }
        if name.hasPrefix("AuthKey_") {
            throw Unusable(
                description: "is a key of the App Store Connect API; needed is an In-App Purchase key (Users and Access, Integrations, "
                    + "In-App Purchase), whose file is SubscriptionKey_<key id>.p8"
            )
        }
        let keyID = name.hasPrefix("SubscriptionKey_") && name.hasSuffix(".p8") ? name.dropFirst(16).dropLast(3) : ""
        guard (1...32).contains(keyID.utf8.count), keyID.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            throw Unusable(description: "must be named SubscriptionKey_<key id>.p8, as App Store Connect names it")
        }
        return APIKey.ID(issuer: issuer, keyID: String(keyID))
    }

    /// - Parameter content: of the file.
    package static func key(_ id: APIKey.ID, _ content: [UInt8]) throws(Unusable) -> APIKey {
        let text = String(decoding: content, as: UTF8.self)
        if text.contains("-----BEGIN PUBLIC KEY-----") {
            throw Unusable(description: "is a public key; needed is the private key that Apple offers once")
        }
        if text.contains("-----BEGIN CERTIFICATE-----") { throw Unusable(description: "is a certificate; needed is a private key") }
        let key: PrivateKey
        do throws(OpenSSLError) {
            key = try PrivateKey(pem: text)
        } catch {
            throw Unusable(description: "is no private key in PEM (PKCS #8), as App Store Connect writes it")
        }
        if key.publicKey.rsaBitCount != nil { throw Unusable(description: "is an RSA key; In-App Purchase keys are on the curve P-256") }
        guard key.publicKey.isP256 else { throw Unusable(description: "is on another curve than P-256") }
        return APIKey(id: id, privateKey: key)
    }

    /// The text in lower case, if it is a UUID.
    package static func uuid(_ text: String) -> String? {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12], groups.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isHexDigit } }) else {
            return nil
        }
        return text.lowercased()
    }
}

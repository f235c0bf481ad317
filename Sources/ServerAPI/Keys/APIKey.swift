import AppStore
package import OpenSSL

/// An In-App Purchase key of App Store Connect, which signs the tokens of requests.
package struct APIKey: Sendable {
    /// Names a key without its content.
    package struct ID: Hashable, Sendable, CustomStringConvertible {
        /// The issuer id of the App Store Connect account, a UUID in lower case.
        package let issuer: String
        package let keyID: String

        package init(issuer: String, keyID: String) {
            self.issuer = issuer
            self.keyID = keyID
        }

        package var description: String { "key \(keyID) of issuer \(issuer)" }
    }

    package let id: ID
    /// The SHA-256 of the public key's SubjectPublicKeyInfo in hexadecimal digits, as `openssl pkey -pubout -outform DER | sha256sum` prints it.
    package let fingerprint: String
    private let privateKey: PrivateKey

    package init(id: ID, privateKey: PrivateKey) {
        self.id = id
        self.privateKey = privateKey
        fingerprint = Digest.sha256(privateKey.publicKey.der).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// A JWS in compact form: header, claims and the signature r ‖ s of 64 bytes (RFC 7515, RFC 7518 section 3.4).
    func sign(header: [UInt8], claims: [UInt8]) throws(OpenSSLError) -> String {
        let signed = Base64URL.encode(header) + [UInt8(ascii: ".")] + Base64URL.encode(claims)
        let signature = try privateKey.signES256(signed)
        return String(decoding: signed + [UInt8(ascii: ".")] + Base64URL.encode(signature), as: UTF8.self)
    }
}

extension APIKey: CustomStringConvertible, CustomReflectable {
    /// Shows nothing of the key.
    package var description: String { id.description }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

import AppStore
package import OpenSSL
package import Outbox
import StrictJSON

/// The keys of this process, and which apps they serve.
package struct APIKeys: Sendable {
    /// By issuer; of each the keys in the order in which they are tried.
    private let keys: [String: [APIKey]]
    private let issuers: [String: String]
    /// The apps and environments that may be asked about and have a key.
    package let lanes: Set<CallLane>

    /// - Parameters:
    ///   - keys: those of an issuer in the order in which they are tried.
    ///   - issuers: the issuer of each app; with keys of one issuer only, it serves the apps that are not named.
    ///   - lanes: the apps and environments that may be asked about.
    package init(_ keys: [APIKey] = [], issuers: [String: String] = [:], lanes: Set<CallLane> = []) {
        let grouped = Dictionary(grouping: keys, by: \.id.issuer)
        self.keys = grouped
        self.issuers = issuers
        self.lanes = lanes.filter { Self.issuer(of: $0.bundleID, issuers, grouped) != nil }
    }

    /// The keys that sign for the app, in the order in which they are tried.
    package func keys(of bundleID: String) -> [APIKey] {
        Self.issuer(of: bundleID, issuers, keys).flatMap { keys[$0] } ?? []
    }

    private static func issuer(of bundleID: String, _ issuers: [String: String], _ keys: [String: [APIKey]]) -> String? {
        if let named = issuers[bundleID] { return keys[named] == nil ? nil : named }
        return keys.count == 1 ? keys.keys.first : nil
    }
}

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

/// The tokens in use. A token is for one app: its claim `bid` names it.
struct TokenCache: Sendable {
    struct Name: Hashable, Sendable {
        let key: APIKey.ID
        /// A reload may replace a key under its name.
        let fingerprint: String
        let bundleID: String
        let host: String
    }

    /// A token is replaced by a new one after this time, while it is still valid for a minute.
    static let renewal = Duration.seconds(480)
    /// `iat` is that much earlier, so that a clock ahead of Apple's makes no token of the future.
    private static let backdating = Duration.seconds(60)
    static let validity = Duration.seconds(540)
    private static let limit = 1000

    private var tokens: [Name: (text: String, madeAt: Timestamp)] = [:]

    mutating func token(_ key: APIKey, bundleID: String, host: String, now: Timestamp) throws(OpenSSLError) -> String {
        let name = Name(key: key.id, fingerprint: key.fingerprint, bundleID: bundleID, host: host)
        if let token = tokens[name], token.madeAt <= now, now < token.madeAt.advanced(by: Self.renewal) { return token.text }
        if tokens.count >= Self.limit { tokens = [:] }
        let text = try Self.make(key, bundleID: bundleID, now: now)
        tokens[name] = (text, now)
        return text
    }

    /// Forgets the tokens of a key that Apple has refused: another clock may make better ones.
    mutating func drop(_ key: APIKey.ID) {
        tokens = tokens.filter { $0.key.key != key }
    }

    private static func make(_ key: APIKey, bundleID: String, now: Timestamp) throws(OpenSSLError) -> String {
        let header: JSONObject = ["alg": "ES256", "kid": .string(key.id.keyID), "typ": "JWT"]
        let claims: JSONObject = [
            "iss": .string(key.id.issuer), "iat": .integer(now.advanced(by: .zero - backdating).millisecondsSince1970 / 1000),
            "exp": .integer(now.advanced(by: validity).millisecondsSince1970 / 1000), "aud": "appstoreconnect-v1", "bid": .string(bundleID),
        ]
        return try key.sign(header: JSONSerializer.serialize(header), claims: JSONSerializer.serialize(claims))
    }
}

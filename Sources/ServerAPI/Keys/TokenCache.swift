import AppStore
import OpenSSL
import StrictJSON

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
    static let backdating = Duration.seconds(60)
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

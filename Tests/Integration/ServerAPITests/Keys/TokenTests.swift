import AppStore
import OpenSSL
import StrictJSON
import Testing

@testable import ServerAPI

/// The tokens that authenticate requests.
struct TokenTests {
    private static let host = "https://api.storekit.apple.com"

    private func parts(_ token: String) throws -> (header: JSONObject, claims: JSONObject, signed: [UInt8], signature: [UInt8]) {
        let parts = token.split(separator: ".").map { Array($0.utf8) }
        try #require(parts.count == 3)
        let decoded = try parts.map { try #require(Base64URL.decode($0)) }
        return (
            try JSONParser().parseObject(decoded[0]), try JSONParser().parseObject(decoded[1]), parts[0] + [UInt8(ascii: ".")] + parts[1],
            decoded[2]
        )
    }

    @Test func `a token has Apple's header and claims, and a raw signature of 64 bytes that the public key verifies`() throws {
        let privateKey = try PrivateKey.generate(.p256)
        let key = APIKey(id: APIKey.ID(issuer: ScriptedAPI.issuer, keyID: "2X9R4HXF34"), privateKey: privateKey)
        var cache = TokenCache()
        let now = ScriptedAPI.start
        let token = try parts(try cache.token(key, bundleID: "com.example.app", host: Self.host, now: now))
        #expect(token.header == ["alg": "ES256", "kid": "2X9R4HXF34", "typ": "JWT"])
        let second = now.millisecondsSince1970 / 1000
        let claims: JSONObject = [
            "iss": .string(ScriptedAPI.issuer), "iat": .integer(second - 60), "exp": .integer(second + 540), "aud": "appstoreconnect-v1",
            "bid": "com.example.app",
        ]
        #expect(token.claims == claims)
        #expect(token.signature.count == 64)
        #expect(privateKey.publicKey.verifyES256(signature: token.signature, message: token.signed[...]))
    }

    @Test func `a token is used for eight minutes, and is one key's for one app and host`() throws {
        let (one, other) = (try ScriptedAPI.key("ONE"), try ScriptedAPI.key("OTHER"))
        var cache = TokenCache()
        func token(_ key: APIKey = one, _ app: String = "a", _ host: String = Self.host, after seconds: Int = 0) throws -> String {
            try cache.token(key, bundleID: app, host: host, now: ScriptedAPI.start.advanced(by: .seconds(seconds)))
        }
        let first = try token()
        #expect(try token(after: 479) == first)
        let renewed = try token(after: 480)
        #expect(try renewed != first && token(after: 900) == renewed)
        // A clock that goes back makes a new one as well: the old one could be of the future.
        #expect(try token(after: 100) != renewed)
        let all = [try token(), try token(other), try token(one, "b"), try token(one, "a", "http://127.0.0.1:1")]
        #expect(Set(all).count == 4)
        #expect(try parts(all[2]).claims["bid"] == "b")
        cache.drop(one.id)
        #expect(try token() != all[0] && token(other) == all[1])
    }

    @Test func `no description or reflection shows a key`() throws {
        let privateKey = try PrivateKey.generate(.p256)
        let key = APIKey(id: APIKey.ID(issuer: ScriptedAPI.issuer, keyID: "ONE"), privateKey: privateKey)
        var dumped = ""
        dump(key, to: &dumped)
        let secret = privateKey.pem.split(separator: "\n")[1]
        #expect(!"\(key) \(String(reflecting: key)) \(dumped)".contains(secret))
        #expect(key.fingerprint.count == 64 && key.fingerprint == Digest.sha256(privateKey.publicKey.der).hex)
        #expect(try PublicKey(der: privateKey.publicKey.der).isP256)
    }
}

extension [UInt8] {
    fileprivate var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

import OpenSSL
import Testing

@testable import ServerAPI

/// What a file of a key must be called and hold.
struct APIKeyFileTests {
    private let id = APIKey.ID(issuer: ScriptedAPI.issuer, keyID: "2X9R4HXF34")

    private func refusal(_ read: () throws -> Void) -> String {
        do {
            try read()
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test func `issuer and key id are in the names`() throws {
        let found = try APIKeyFile.id(issuer: ScriptedAPI.issuer.uppercased(), name: "SubscriptionKey_2X9R4HXF34.p8")
        #expect(found == id)
    }

    @Test(arguments: [
        ("57246542", "SubscriptionKey_A.p8", "a UUID"), ("", "SubscriptionKey_A.p8", "a UUID"),
        (ScriptedAPI.issuer, "AuthKey_A.p8", "App Store Connect API"), (ScriptedAPI.issuer, "SubscriptionKey_.p8", "must be named"),
        (ScriptedAPI.issuer, "SubscriptionKey_A.pem", "must be named"), (ScriptedAPI.issuer, "SubscriptionKey_A/B.p8", "must be named"),
        (ScriptedAPI.issuer, "key.p8", "must be named"),
    ])
    func `other names are refused with what is wrong`(issuer: String, name: String, expected: String) {
        #expect(refusal { _ = try APIKeyFile.id(issuer: issuer, name: name) }.contains(expected))
    }

    @Test func `a key as Apple writes it is read`() throws {
        let pem = try PrivateKey.generate(.p256).pem
        #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----"))
        #expect(try APIKeyFile.key(id, Array(pem.utf8)).id == id)
    }

    @Test func `other content is refused with what it is, and without a byte of it`() throws {
        let contents = [
            ("is an RSA key", try PrivateKey.generateRSA(bitCount: 2048).pem), ("another curve", try PrivateKey.generate(.p384).pem),
            ("is a public key", "-----BEGIN PUBLIC KEY-----\nsecret\n-----END PUBLIC KEY-----\n"),
            ("is a certificate", "-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----\n"),
            ("no private key in PEM", "secret"), ("no private key in PEM", ""),
            ("no private key in PEM", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nsecret\n-----END ENCRYPTED PRIVATE KEY-----\n"),
        ]
        for (expected, content) in contents {
            let refusal = refusal { _ = try APIKeyFile.key(id, Array(content.utf8)) }
            #expect(refusal.contains(expected) && !refusal.contains("secret"), "\(refusal)")
        }
    }
}

import AppStore
import Foundation
import OpenSSL
import StrictJSON
import Testing

/// The folder of public test vectors, outside the repository, with a subfolder `wycheproof/`.
private let vectors = ProcessInfo.processInfo.environment["APPSTORE_INBOX_VECTORS"]

/// Runs Project Wycheproof's elliptic curve JWS through the parser and signature check of verification.
///
/// Their headers have a `kid` and no certificates, which full verification refuses, so the tests check the algorithm themselves.
@Suite(.enabled(if: vectors != nil, "APPSTORE_INBOX_VECTORS is not set"))
struct JWSVectorTests {
    struct File: Decodable {
        var testGroups: [Group]
    }

    struct Group: Decodable {
        struct Key: Decodable {
            var crv: String
            var x: String
            var y: String
        }

        var `public`: Key
        var tests: [Case]
    }

    struct Case: Decodable {
        var tcId: Int
        var jws: String
        var result: String
    }

    /// The cases whose result differs from the expected one, with the reason.
    private static let exceptions = [
        347: "refused: ES512 is not an algorithm of the App Store",
        351: "refused: ES512 is not an algorithm of the App Store",
        354: "accepted: a JWK's use is not checked; keys come from certificates, whose key usage is",
        356: "accepted: a JWK's key_ops are not checked; keys come from certificates, whose key usage is",
    ]

    @Test func `every result equals that of Wycheproof or is a listed exception`() throws {
        let url = URL(fileURLWithPath: vectors ?? "").appending(path: "wycheproof/jws_ec_subset.json")
        let groups = try JSONDecoder().decode(File.self, from: Data(contentsOf: url)).testGroups
        var differing: [Int] = []
        for group in groups {
            let key = try publicKey(group.public)
            for item in group.tests where isGenuine(item.jws, key) != (item.result == "valid") { differing.append(item.tcId) }
        }
        #expect(groups.flatMap(\.tests).count >= 43)
        #expect(Set(differing) == Set(Self.exceptions.keys))
    }

    private func isGenuine(_ text: String, _ key: PublicKey?) -> Bool {
        do {
            let jws = try CompactJWS(Array(text.utf8))
            let header = try JSONParser().parseObject(try #require(Base64URL.decode(jws.headerSegment)))
            return header["alg"] == "ES256" && key?.verifyES256(signature: jws.signature, message: jws.signingInput) == true
        } catch {
            return false
        }
    }

    /// The key of a JWK on P-256, in a SubjectPublicKeyInfo.
    private func publicKey(_ key: Group.Key) throws -> PublicKey? {
        guard key.crv == "P-256" else { return nil }
        let prefix: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03,
            0x01, 0x07,
            0x03, 0x42, 0x00, 0x04,
        ]
        let point = try [key.x, key.y].flatMap { try #require(Base64URL.decode(Array($0.utf8))) }
        return try PublicKey(der: prefix + point)
    }
}

import Testing

@testable import OpenSSL

/// Project Wycheproof's signatures, valid and invalid.
///
/// Enabled only where the vectors are available; see ``Vectors``.
@Suite(.enabled(if: Vectors.arePresent, "APPSTORE_INBOX_VECTORS is not set"))
struct WycheproofTests {
    struct File: Decodable {
        var numberOfTests: Int
        var testGroups: [Group]
    }

    struct Group: Decodable {
        var publicKeyDer: HexBytes
        var tests: [Case]
    }

    struct Case: Decodable {
        var tcId: Int
        var comment: String
        var msg: HexBytes
        var sig: HexBytes
        var result: String
    }

    @Test func `signatures as r and s get Wycheproof's verdicts`() async throws {
        try await check("ecdsa_secp256r1_sha256_p1363_test") { key, item in
            key.verifyES256(signature: item.sig.bytes, message: item.msg.bytes[...])
        }
    }

    @Test(arguments: [("ecdsa_secp256r1_sha256_test", false), ("ecdsa_secp384r1_sha384_test", true)])
    func `signatures in DER, as in certificates, get Wycheproof's verdicts`(name: String, sha384: Bool) async throws {
        try await check(name) { key, item in
            key.verify(der: item.sig.bytes, digest: (sha384 ? MessageDigest.sha384 : .sha256).hash(item.msg.bytes[...]))
        }
    }

    private func check(_ name: String, verify: (PublicKey, Case) -> Bool) async throws {
        let file = try Vectors.load("wycheproof/\(name).json", as: File.self)
        var count = 0
        for group in file.testGroups {
            let key = try PublicKey(der: group.publicKeyDer.bytes)
            for item in group.tests {
                await Task.yield()
                #expect(verify(key, item) == (item.result == "valid"), "\(name) \(item.tcId): \(item.comment)")
                count += 1
            }
        }
        #expect(count == file.numberOfTests)
    }
}

import Foundation
import OpenSSL
import Testing

/// The chain cases of x509-limbo, run through ``CertificateChain``.
///
/// Enabled only where the vectors are available; see ``Vectors``.
@Suite(.enabled(if: Vectors.arePresent, "APPSTORE_INBOX_VECTORS is not set"))
struct LimboTests {
    struct Suite: Decodable {
        var testcases: [Case]
    }

    struct Case: Decodable, CustomTestStringConvertible {
        var id: String
        var expected_result: String
        var peer_certificate: String
        var untrusted_intermediates: [String]
        var trusted_certs: [String]
        var validation_time: String?

        var testDescription: String { id }
    }

    /// The time for cases without a validation time; their certificates are valid from 1970 to 2969.
    private static let anyTime: Int64 = 1_700_000_000

    @Test func `every chain case has x509-limbo's verdict, or differs for a stated reason`() throws {
        let cases = try Vectors.load("x509-limbo/chain-subset.json", as: Suite.self).testcases
        #expect(cases.count >= 75)
        let differing = try cases.filter { try isAccepted($0) != ($0.expected_result == "SUCCESS") }.map(\.id)
        #expect(Set(differing) == Set(LimboExceptions.reasons.keys))
    }

    private func isAccepted(_ item: Case) throws -> Bool {
        do {
            let verdict = CertificateChain.validate(
                leaf: try Certificate.single(pem: item.peer_certificate),
                intermediates: try item.untrusted_intermediates.map(Certificate.single(pem:)),
                roots: try item.trusted_certs.map(Certificate.single(pem:)),
                at: try item.validation_time.map(seconds) ?? Self.anyTime
            )
            if case .accepted = verdict { return true }
            return false
        } catch is OpenSSLError {
            return false
        }
    }

    private func seconds(_ text: String) throws -> Int64 {
        // Validity periods have whole seconds; fractions are dropped.
        let whole = text.replacing(#/\.\d+/#, with: "")
        return Int64(try Date(whole, strategy: .iso8601).timeIntervalSince1970)
    }
}

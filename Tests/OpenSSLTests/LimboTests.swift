import Foundation
import OpenSSL
import Testing

/// The chain cases of x509-limbo through the general validation that the strict one of two certificates uses.
///
/// They run only where the vectors are: see ``Vectors``.
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

    /// x509-limbo leaves the time to us where it does not matter; its certificates are valid from 1970 to 2969.
    private static let anyTime: Int64 = 1_700_000_000

    @Test func `every chain case is answered as x509-limbo does, or differs for a stated reason`() throws {
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
        // Whole seconds are what a certificate's validity knows: a fraction is cut off.
        let whole = text.replacing(#/\.\d+/#, with: "")
        return Int64(try Date(whole, strategy: .iso8601).timeIntervalSince1970)
    }
}

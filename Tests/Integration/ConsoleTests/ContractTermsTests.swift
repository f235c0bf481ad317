import StrictJSON
import Testing

@testable import Console

/// Seats and commitments in words.
struct ContractTermsTests {
    private func terms(_ json: String) throws -> ContractTerms {
        ContractTerms(try JSONParser().parseObject(Array(json.utf8)))
    }

    @Test(arguments: [
        (#"{"bought": 5, "added": 0, "revoked": 0}"#, "5 seats"),
        (#"{"bought": 1, "added": 0, "revoked": 0, "renewing": 3}"#, "1 seat; 3 renew"),
        (#"{"bought": 7, "added": 2, "revoked": 1, "renewing": 6}"#, "7 seats, of which 2 were added and 1 refunded; 6 renew"),
    ])
    func `seats`(seats: String, words: String) throws {
        #expect(try terms(#"{"seats": \#(seats)}"#).seats == words)
    }

    @Test(arguments: [
        (
            #"{"until": "2027-01-31T12:00:00+00:00", "payments_left": 11, "will_renew": false}"#,
            "committed until 2027-01-31, 11 payments left, then ends"
        ),
        (
            #"{"until": "2027-01-31T12:00:00+00:00", "payments_left": 1, "will_renew": true}"#,
            "committed until 2027-01-31, 1 payment left, then renews"
        ),
        (#"{"until": "2027-01-31T12:00:00+00:00"}"#, "committed until 2027-01-31"),
    ])
    func `a commitment`(commitment: String, words: String) throws {
        #expect(try terms(#"{"commitment": \#(commitment)}"#).commitment == words)
    }

    @Test func `a contract without them`() throws {
        let plain = try terms(#"{"product_id": "pro"}"#)
        #expect(plain.seats == nil && plain.commitment == nil)
    }
}

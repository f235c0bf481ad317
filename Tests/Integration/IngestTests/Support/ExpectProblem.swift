import Foundation
import HTTPServingTesting
import Testing

/// Expects a problem with that status and reason, and Retry-After exactly with 503.
func expectProblem(_ response: RawResponse, _ status: Int, _ reason: String) throws {
    #expect(response.status == status, "\(reason)")
    #expect(response.headers["content-type"] == "application/problem+json")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(response.body.utf8)) as? [String: Any])
    #expect(object["type"] as? String == "urn:appstore-inbox:problem:\(reason)")
    #expect(object["status"] as? Int == status)
    #expect((response.headers["retry-after"] != nil) == (status == 503), "\(reason)")
}

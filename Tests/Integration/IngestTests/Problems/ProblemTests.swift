import Foundation
import Testing

@testable import HTTPServing
@testable import Ingest

struct ProblemTests {
    static let catalogue: [Problem] = [
        .noSignedPayload, .notCompactJWS, .noNotificationType, .wrongSharedSecret, .noSharedSecret, .queueFull(retryAfter: 1),
        .notCommitted(retryAfter: 3),
    ]

    @Test(arguments: catalogue) func `each is an RFC 9457 object`(problem: Problem) throws {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(problem.json.utf8)) as? [String: Any])
        #expect(object["type"] as? String == "urn:appstore-inbox:problem:\(problem.reason)")
        #expect(object["title"] as? String == problem.title)
        #expect(object["status"] as? Int == problem.status)
        #expect(object["detail"] as? String == problem.detail)
        #expect(Set(object.keys) == ["type", "title", "status", "detail"])
    }

    @Test func `reasons are unique`() {
        #expect(Set(Self.catalogue.map(\.reason)).count == Self.catalogue.count)
    }

    @Test(arguments: catalogue.filter { $0.status == 503 }) func `each 503 has Retry-After`(problem: Problem) {
        #expect(problem.retryAfter ?? 0 >= 1)
    }
}

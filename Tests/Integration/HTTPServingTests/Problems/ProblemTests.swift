import Foundation
import StrictJSON
import Testing

@testable import HTTPServing

struct ProblemTests {
    static let catalogue: [Problem] = [
        .malformedRequest, .malformedPath, .notJSON, .notAnObject, .notFound, .methodNotAllowed(allow: "POST"), .requestTimeout,
        .lengthRequired, .contentTooLarge(limit: 262144), .unsupportedMediaType, .contentEncodingRefused, .expectationFailed, .headTooLarge,
        .transferCodingUnknown, .tooManyBytes, .hourlyLimit, .shuttingDown, .databaseUnavailable(retryAfter: 2),
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

    @Test func `extension members follow the standard ones`() throws {
        var problem = Problem.notJSON
        problem.extensions = ["member": "a\"b"]
        let object = try #require(try JSONSerialization.jsonObject(with: Data(problem.json.utf8)) as? [String: Any])
        #expect(object["member"] as? String == "a\"b")
        #expect(object.count == 5)
    }

    @Test func `dates have the format of RFC 9110`() {
        #expect(HTTPDate.string(from: Date(timeIntervalSince1970: 784_111_777)) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}

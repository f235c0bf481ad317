import Feed
import HTTPServing
import Postgres
import PostgresTesting
import StrictJSON
import Testing

@testable import ShopAPI

/// Compares the API description, which is written by hand, with the program.
struct OpenAPITests {
    /// Every problem of the listener and the routes. `RunningAPI.exchange` also compares each answer with the description.
    static let catalogue: [Problem] = [
        .malformedRequest, .malformedPath, .notJSON, .notAnObject, .invalidMember("a", "b"), .unknownMember(known: []),
        .invalidParameter("a", "b"), .unknownParameter(known: []), .unauthorized, .verbNotCovered(.createOrders), .environmentNotCovered,
        .appNotCovered, .notFound, .noSuchEvent, .noSuchOrder, .noSuchContract, .methodNotAllowed(allow: "GET"), .requestTimeout,
        .orderConflict, .orderNumberIsToken, .tokenIsOrder, .tokenOfAnother,
        .ownerConflict, .lengthRequired, .contentTooLarge(limit: 1), .unsupportedMediaType, .contentEncodingRefused, .expectationFailed,
        .transactionRejected(reason: "r"), .receiptRejected(reason: "r"), .headTooLarge, .internalError, .transferCodingUnknown,
        .tooManyBytes, .tooManyWaiting, .shuttingDown, .databaseUnavailable(retryAfter: 1), .noSuchEntry, .noSuchConsumer, .feedOff,
        .historyChanged(next: .begin), .positionUnknown, .cursorExpired(next: .begin), .noSuchConsumption, .noSuchConsent,
        .consumption(refusedFor: "past_due", ""), .consumption(refusedFor: "percentage", ""),
        .noSuchInquiry, .inquiry(refusedFor: "in_use", ""), .inquiry(refusedFor: "invalid", ""),
    ]

    private let description = APIDescription.served

    @Test func `the description is strict JSON of OpenAPI 3_1`() throws {
        let root = try JSONParser().parse(Array(OpenAPI.text.utf8))
        #expect(root["openapi"]?.text == "3.1.0")
    }

    @Test func `every route is described, and nothing else`() throws {
        let routes = try ShopRoutes.forDescription.routes
        for (path, methods) in routes.operations {
            let described = description.root["paths"]?[path]?.names ?? []
            #expect(Set(described) == Set(methods.map { $0.lowercased() }), "\(path)")
        }
        #expect(Set(description.paths) == Set(routes.operations.keys))
    }

    @Test func `every problem type is described with its status, and nothing else`() {
        let described = description.problems
        for problem in Self.catalogue {
            #expect(described[Problem.typePrefix + problem.reason]?.hasPrefix("\(problem.status). ") == true, "\(problem.reason)")
        }
        #expect(Set(described.keys) == Set(Self.catalogue.map { Problem.typePrefix + $0.reason }))
        let names = Set(Self.catalogue.flatMap { $0.extensions.members.map(\.name) })
        let members = description.root["components"]?["schemas"]?["Problem"]?["properties"]?.names ?? []
        #expect(Set(members) == names.union(["type", "title", "status", "detail"]))
    }

    @Test func `every reference resolves`() {
        let references = description.references
        #expect(references.count > 50)
        for reference in references { #expect(description.resolve(reference) != nil, "\(reference)") }
    }

    @Test func `every operation has examples of its bodies and of its path`() {
        #expect(description.root["servers"]?.elements.first?["url"]?.text?.hasPrefix("http://") == true)
        for path in description.paths where path.hasPrefix("/v1/") {
            for method in description.root["paths"]?[path]?.names ?? [] {
                let operation = description.root["paths"]?[path]?[method]
                description.expectExamples(operation?["requestBody"]?["content"], "\(method) \(path)")
                for status in ["200", "201", "202"] {
                    description.expectExamples(operation?["responses"]?[status]?["content"], "\(method) \(path) \(status)")
                }
                for parameter in (operation?["parameters"]?.elements ?? []).compactMap(description.followed)
                where parameter["in"]?.text == "path" {
                    #expect(parameter["example"] != nil, "\(method) \(path)")
                }
            }
        }
    }

    @Test func `every operation but the public ones needs a key and names its verb`() throws {
        var verbs: Set<String> = []
        for path in description.paths where path.hasPrefix("/v1/") {
            for method in description.root["paths"]?[path]?.names ?? [] {
                let operation = description.root["paths"]?[path]?[method]
                #expect(operation?["security"] == nil)
                let text = try #require(operation?["description"]?.text)
                verbs.formUnion(Verb.allCases.map(\.rawValue).filter { text.contains("Needs verb \($0)") })
            }
        }
        #expect(verbs == Set(Verb.allCases.map(\.rawValue)))
    }
}

extension ShopRoutes {
    /// Routes that are listed and never called.
    fileprivate static var forDescription: ShopRoutes {
        get throws {
            let log = CapturedLog()
            let pool = ConnectionPool(options: try ConnectionOptions("host=/nonexistent"), logger: log.logger)
            let store = ShopStore(pool: pool, logger: log.logger)
            return ShopRoutes(
                store: store,
                feedStore: store,
                standbyStore: nil,
                watch: FeedWatch { FeedEnd(generation: 0, position: 0) },
                admission: Admission(memoryLimit: 1, hourlyLimit: 1),
                maximumBytes: 1,
                maximumReceiptBytes: 1,
                metrics: AnswerMetrics(listener: "api")
            )
        }
    }
}

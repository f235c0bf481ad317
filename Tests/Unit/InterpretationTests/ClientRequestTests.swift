import AppStore
import AppStoreVerification
import Testing

@testable import Interpretation

struct ClientRequestTests {
    private static func request(_ bundleIDs: [String]? = nil) throws -> ClientRequest {
        ClientRequest(try ClientSubmission(signedTransaction: "a.b.c", user: "anna", environment: .production, bundleIDs: bundleIDs))
    }

    /// The checks that are recorded, with the reason of the failed one.
    private static func checks(
        _ request: ClientRequest,
        _ environment: AppStoreEnvironment?,
        _ bundleID: String?
    ) -> [String] {
        let diagnostics = VerificationDiagnostics()
        var refusal: String?
        do throws(EventRefusal) {
            try request.check(environment, bundleID, diagnostics)
        } catch {
            refusal = error.reason
        }
        let checks = diagnostics.parts.flatMap(\.checks)
        #expect(checks.last?.failure?.reason.rawValue == refusal)
        return checks.map { "\($0.step)\($0.failure.map { " \($0.reason)" } ?? "")" }
    }

    @Test(
        arguments: [
            (nil, ["environment environment_missing"]), (.sandbox, ["environment wrong_environment"]),
            (.production, ["environment", "app"]),
        ] as [(AppStoreEnvironment?, [String])]
    )
    func `the content must name the requested environment`(environment: AppStoreEnvironment?, checks: [String]) throws {
        #expect(Self.checks(try Self.request(), environment, "com.example.app") == checks)
    }

    @Test(
        arguments: [
            (nil, nil, "app"), (["com.example.app", "a"], "com.example.app", "app"), (["a"], "com.example.app", "app wrong_bundle"),
            ([], "a", "app wrong_bundle"), (["a"], nil, "app bundle_missing"),
        ] as [([String]?, String?, String)]
    )
    func `the content must be of an app in the key's scope`(scope: [String]?, bundleID: String?, check: String) throws {
        #expect(Self.checks(try Self.request(scope), .production, bundleID) == ["environment", check])
    }
}

import AppStore
import Outbox
import Testing

@testable import ServerAPI

/// Methods and paths.
struct ServerAPIEndpointTests {
    @Test func `paths and queries are percent-encoded, so that no value is another path`() {
        func target(_ endpoint: ServerAPIEndpoint, _ path: [String], _ query: [ServerAPIRequest.QueryItem] = []) -> String {
            ServerAPIRequest(endpoint, of: "a", in: .production, path: path, query: query).target
        }
        #expect(target(.consumption, ["42"]) == "/inApps/v2/transactions/consumption/42")
        #expect(target(.extendStatus, ["pro.monthly", "a/b?c"]) == "/inApps/v1/subscriptions/extend/mass/pro.monthly/a%2Fb%3Fc")
        #expect(
            target(.notificationHistory, [], [.init("paginationToken", "a+b=é")])
                == "/inApps/v1/notifications/history?paginationToken=a%2Bb%3D%C3%A9"
        )
        #expect(
            target(.subscriptionStatuses, ["1"], [.init("status", "1"), .init("status", "4")])
                == "/inApps/v1/subscriptions/1?status=1&status=4"
        )
        #expect(target(.groupMembers, ["9"], [.init("limit", "100")]) == "/groups/v1/group/9?limit=100")
        #expect(target(.seatInfo, ["42"]) == "/groups/v1/transactions/42/seats")
    }

    @Test func `names are distinct, and fit the table of budgets`() {
        let names = ServerAPIEndpoint.allCases.map(\.rawValue)
        #expect(Set(names).count == 19 && Set(ServerAPIEndpoint.allCases.map { "\($0.method) \($0.template)" }).count == 19)
        for name in names { #expect(name.wholeMatch(of: /[a-z][a-z0-9_]{0,62}/) != nil) }
    }

    @Test(
        arguments: [
            (.consumption, "PUT", 50), (.notificationHistory, "POST", 50), (.transactionHistory, "GET", 50), (.refundHistory, "GET", 10),
            (.setAppAccountToken, "PUT", 20), (.testNotification, "POST", 1), (.extendForAll, "POST", 1), (.extendStatus, "GET", 1),
            (.finishTransaction, "POST", 50), (.extendRenewalDate, "PUT", 20), (.orderLookup, "GET", 10),
            (.customerGroups, "GET", 50), (.groupMembers, "GET", 50), (.seatInfo, "GET", 50),
        ] as [(ServerAPIEndpoint, String, Double)]
    )
    func `methods and rates are those that Apple documents`(endpoint: ServerAPIEndpoint, method: String, rate: Double) {
        #expect(endpoint.method.rawValue == method && endpoint.documentedRate == rate)
    }
}

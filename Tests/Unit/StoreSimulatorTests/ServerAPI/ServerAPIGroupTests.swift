import AppStore
import Foundation
import StoreSimulator
import StrictJSON
import Testing

/// What the simulated API says of groups of seats.
struct ServerAPIGroupTests {
    private static let group = "910000000000000001"

    /// A scene with a subscriber in Sandbox.
    private func scene() throws -> (APIScene, CustomerLife) {
        var scene = try APIScene(.testSandbox)
        let life = try scene.subscriber()
        return (scene, life)
    }

    @Test func `a customer without a group of a consumer gets Sandbox's organization, which has a member`() throws {
        var (scene, life) = try scene()
        let answer = try scene.ask("GET", "/groups/v1/currentGroups/\(life.appTransactionID)", in: .sandbox)
        let groups = try #require(answer.json["groups"]?.list).compactMap(\.object)
        #expect(groups.map { $0["groupId"] } == ["900000000000000000"] && groups[0]["groupType"] == "ORGANIZATION")
        #expect(groups[0]["roles"]?.list?.count == 2)
        let members = try scene.ask("GET", "/groups/v1/group/900000000000000000", in: .sandbox)
        #expect(members.json == ["members": [["appTransactionId": "700000000000000000"]], "hasMore": false])
    }

    @Test func `a member is told the group, whose members come in pages`() throws {
        var (scene, life) = try scene()
        let members = [life.appTransactionID] + (1...4).map { "70000000000000000\($0)" }
        scene.api.hold(SimulatedServerAPI.ConsumerGroup(id: Self.group, members: members), at: APIScene.sandbox)
        let id = try #require(life.subscription).originalTransactionID
        let groups = try scene.ask("GET", "/groups/v1/currentGroups/\(id)", in: .sandbox)
        #expect(groups.json == ["groups": [["groupId": .string(Self.group), "groupType": "CONSUMER"]]])
        var (found, token) = ([String](), String?.none)
        repeat {
            let query = "?limit=2" + (token.map { "&paginationToken=\($0)" } ?? "")
            let page = try scene.ask("GET", "/groups/v1/group/\(Self.group)\(query)", in: .sandbox)
            found += (page.json["members"]?.list ?? []).compactMap { $0.object?["appTransactionId"]?.string }
            token = page.json["paginationToken"]?.string
            #expect(page.json["hasMore"]?.bool == (token != nil))
        } while token != nil
        #expect(found == members)
    }

    @Test func `seats are counted, also where more are claimed than there are`() throws {
        var (scene, life) = try scene()
        let id = try #require(life.subscription).originalTransactionID
        for (total, claims, available) in [(3, 1, 2), (1, 2, 0)] {
            let seats = SimulatedServerAPI.Seats(total: total, claims: (0..<claims).map { _ in UUID() })
            scene.api.hold(seats, of: id, at: APIScene.sandbox)
            let answer = try scene.ask("GET", "/groups/v1/transactions/\(id)/seats", in: .sandbox).json
            #expect(answer["totalSeatCount"]?.integer == Int64(total) && answer["availableSeatCount"]?.integer == Int64(available))
            #expect(answer["assignedSeatClaimIds"]?.list?.count == claims)
        }
    }

    @Test func `wrong questions are refused with their codes, and Production has none of it`() throws {
        var (scene, life) = try scene()
        let id = try #require(life.subscription).originalTransactionID
        scene.api.hold(SimulatedServerAPI.ConsumerGroup(id: Self.group, members: ["1", "2"]), at: APIScene.sandbox)
        let codes: [(String, Int64)] = [
            ("currentGroups/x", 4_000_006), ("currentGroups/1", 4_040_010), ("group/x", 4_000_225), ("group/1", 4_040_022),
            ("group/\(Self.group)?limit=0", 4_000_004), ("group/\(Self.group)?limit=101", 4_000_004),
            ("group/\(Self.group)?paginationToken=x", 4_000_014), ("transactions/1/seats", 4_040_010),
            ("transactions/\(id)/seats", 4_000_994),
        ]
        for (target, code) in codes { #expect(try scene.ask("GET", "/groups/v1/" + target, in: .sandbox).code == code, "\(target)") }
        for target in ["currentGroups/\(id)", "group/\(Self.group)", "transactions/\(id)/seats"] {
            let answer = try scene.ask("GET", "/groups/v1/" + target)
            #expect(answer.status == 404 && answer.code == nil)
        }
    }
}

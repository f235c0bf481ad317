import AppStore
import Foundation
import Randomness
import StoreSimulator
import StrictJSON
import Testing

/// Walking the notification history of random pushes. A failure names the seed; `HISTORY_SEED` in the environment runs only that one.
struct HistoryWalkTests {
    static let seeds: [UInt64] = ProcessInfo.processInfo.environment["HISTORY_SEED"].flatMap(UInt64.init).map { [$0] } ?? Array(1...30)

    /// A push with the time from which history lists it; nil for never.
    private struct Push {
        let payload: String
        let listedAt: Timestamp?
    }

    @Test(arguments: seeds)
    func `closed windows together list each notification that is listed once, as it was pushed`(seed: UInt64) throws {
        var (scene, generator) = (try APIScene(seed: seed), SeededGenerator(seed: seed))
        let start = scene.now
        let pushes = try push(Int.random(in: 1...120, using: &generator), &scene, &generator)
        for wait in [0, 3600, 3 * 86_400] as [Int64] {
            scene.now = scene.now.advanced(by: .seconds(wait))
            var (found, from) = ([String](), start)
            while from < scene.now {
                let to = min(scene.now, from.advanced(by: .seconds(Int64.random(in: 3600...86_400, using: &generator))))
                found += try walk(&scene, from, to, &generator)
                from = to
            }
            let listed = pushes.filter { $0.listedAt.map { $0 <= scene.now } ?? false }
            #expect(scene.api.listed(at: APIScene.place, on: scene.now).count == listed.count)
            #expect(found.count == Set(found).count && Set(found) == Set(listed.map(\.payload)), "seed \(seed), after \(wait) s")
        }
    }

    /// Pushes within some hours, each with a random fate, failure and delay.
    private func push(_ count: Int, _ scene: inout APIScene, _ generator: inout SeededGenerator) throws -> [Push] {
        var life = scene.store.makeCustomer()
        let product = try #require(life.catalogue.oneTimeProducts.first)
        var pushes: [Push] = []
        for _ in 0..<count {
            // Several notifications can be signed at the same millisecond.
            life.leastMillisecondsBetweenEvents = 0
            if Bool.random(using: &generator) { life.advance(by: .seconds(Int64.random(in: 0...1800, using: &generator))) }
            let signed = try Genuine.signer.sign(try life.buy(product))
            let fate = PushFate.random(using: &generator)
            let delay = Int64.random(in: 0...7200, using: &generator) * Int64.random(in: 0...1, using: &generator)
            scene.api.push(signed, fate: fate, listedAfter: .seconds(delay), failingWith: .timedOut)
            let date = signed.notification.signedDate
            let listedAt = fate == .unlisted ? nil : date.advanced(by: .seconds(delay))
            pushes.append(Push(payload: String(decoding: signed.jws, as: UTF8.self), listedAt: listedAt))
        }
        scene.now = life.now.advanced(by: .seconds(1))
        return pushes
    }

    /// Reads a window page by page; some pages are empty by a fault.
    private func walk(
        _ scene: inout APIScene,
        _ start: Timestamp,
        _ end: Timestamp,
        _ generator: inout SeededGenerator
    ) throws -> [String] {
        let body: JSONObject = ["startDate": .timestamp(start), "endDate": .timestamp(end)]
        var (found, token) = ([String](), String?.none)
        repeat {
            if Int.random(in: 0..<4, using: &generator) == 0 { scene.api.faults.add(.emptyPage) }
            let answer = try scene.ask("POST", "/inApps/v1/notifications/history" + (token.map { "?paginationToken=\($0)" } ?? ""), body)
            found += (answer.json["notificationHistory"]?.list ?? []).compactMap { $0.object?["signedPayload"]?.string }
            let next = answer.json["paginationToken"]?.string
            #expect(answer.status == 200 && (next == nil || next != token))
            token = next
        } while token != nil
        return found
    }
}

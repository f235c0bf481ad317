import Outbox
import Postgres
import ServerAPI
import ServiceLifecycle
import Systemd

extension ImportService {
    /// Chunks whose users become owners between two leases: those that wait for their events would keep the loop.
    private static var linksInARow: Int { 10 }
    /// Tokens that are set between two leases: more in a second than Apple answers.
    private static var tokensInARow: Int { 100 }

    /// Leases chunks, and asks the items of each in a task of its own, until those in flight are released. Each lane has slots of its own: none
    /// delays another.
    func askChunks(through exchange: Exchange) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        await withDiscardingTaskGroup { group in
            await database.takeSteps(backingOff: configuration.outage) {
                heartbeat.beat()
                do {
                    let known = client.openLanes.sorted().flatMap { app in
                        ImportChunk.Depth.allCases.map { ImportLane(app: app, depth: $0) }
                    }
                    let free = lanes.free(of: known, at: .now)
                    for chunk in free.isEmpty ? [] : try await store.lease(free) {
                        lanes.acquire(chunk.lane)
                        group.addTask { await ask(chunk, through: exchange) }
                    }
                    for _ in 0..<Self.tokensInARow where !Task.isShuttingDownGracefully {
                        guard try await store.setToken() else { break }
                        heartbeat.beat()
                    }
                    for _ in 0..<Self.linksInARow where !Task.isShuttingDownGracefully {
                        guard try await store.link() else { break }
                        heartbeat.beat()
                    }
                } catch let error as PostgresError where error.isSerializationConflict {
                    // A batch of the worker has locked a contract that a user is to own. The link or token has changed nothing.
                }
                return configuration.pollPause
            }
        }
    }

    private func ask(_ chunk: ImportChunk, through exchange: Exchange) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        let walk = ImportWalk(
            store: store,
            client: client,
            exchange: exchange,
            lanes: lanes,
            backoff: configuration.backoff,
            logger: logger,
            beat: heartbeat.beat
        )
        do {
            switch try await walk.run(chunk) {
            case .over: break
            case .rests(let delay): lanes.rest(chunk.lane, until: .now + delay)
            case .silent: lanes.restSilently(chunk.lane, at: .now)
            }
        } catch {
            database.failed(error)
        }
        lanes.release(chunk.lane)
    }
}

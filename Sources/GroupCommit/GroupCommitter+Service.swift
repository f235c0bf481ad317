import ServiceLifecycle

extension GroupCommitter {
    /// Commits batches until graceful shutdown. Bodies accepted by then are still committed.
    package func run() async throws {
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await self.runTimer() }
                    group.addTask { try await self.runProber() }
                    await self.runCommitters()
                    group.cancelAll()
                }
            } onGracefulShutdown: {
                self.update { waiters, _ in waiters.state.drain() }
            }
        } onCancel: {
            update { waiters, _ in
                waiters.state.drain()
                for id in waiters.state.failWaiting() { waiters.answer(id, .failure(GroupCommitError(.shuttingDown))) }
            }
        }
    }

    private func runCommitters() async {
        await withDiscardingTaskGroup { committers in
            for _ in 0..<configuration.maximumBatchesInFlight { committers.addTask { await self.runCommitter() } }
        }
    }

    private func runCommitter() async {
        while let batch = await nextBatch() { await commit(batch) }
    }

    private func nextBatch() async -> GroupCommitState.Batch? {
        await withCheckedContinuation { committer in
            update { waiters, _ in waiters.idleCommitters.append(committer) }
        }
    }

    private func runTimer() async throws {
        while let due = await nextLinger() {
            try await Task.sleep(until: due, tolerance: .zero, clock: .continuous)
        }
    }

    private func nextLinger() async -> ContinuousClock.Instant? {
        await withCheckedContinuation { timer in
            update { waiters, _ in waiters.idleTimer = timer }
        }
    }

    private func runProber() async throws {
        while let due = await nextProbeDue() {
            try await Task.sleep(until: due, clock: .continuous)
            await probe()
        }
    }

    private func nextProbeDue() async -> ContinuousClock.Instant? {
        await withCheckedContinuation { prober in
            update { waiters, _ in waiters.idleProber = prober }
        }
    }
}

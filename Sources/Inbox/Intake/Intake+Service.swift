import ServiceLifecycle

extension Intake {
    /// Commits batches until graceful shutdown; what was taken by then is committed and answered first.
    package func run() async throws {
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await self.runTimer() }
                    group.addTask { try await self.runProber() }
                    await self.runLanes()
                    group.cancelAll()
                }
            } onGracefulShutdown: {
                self.update { mailbox, _ in mailbox.state.drain() }
            }
        } onCancel: {
            update { mailbox, _ in
                mailbox.state.drain()
                for id in mailbox.state.failWaiting() { mailbox.answer(id, .failure(IntakeError(.shuttingDown))) }
            }
        }
    }

    private func runLanes() async {
        await withDiscardingTaskGroup { lanes in
            for _ in 0..<configuration.maximumBatchesInFlight { lanes.addTask { await self.runLane() } }
        }
    }

    private func runLane() async {
        while let batch = await nextBatch() { await commit(batch) }
    }

    private func nextBatch() async -> IntakeState.Batch? {
        await withCheckedContinuation { lane in
            update { mailbox, _ in mailbox.idleLanes.append(lane) }
        }
    }

    private func runTimer() async throws {
        while let due = await nextLinger() {
            try await Task.sleep(until: due, tolerance: .zero, clock: .continuous)
        }
    }

    private func nextLinger() async -> ContinuousClock.Instant? {
        await withCheckedContinuation { timer in
            update { mailbox, _ in mailbox.idleTimer = timer }
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
            update { mailbox, _ in mailbox.idleProber = prober }
        }
    }
}

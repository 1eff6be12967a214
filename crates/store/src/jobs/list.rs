//! Lists of jobs: for people, with the beginning of what is long, and for whoever runs them.

use countersign_core::id::{SessionId, WorkspaceId};
use countersign_core::job::{Job, JobId, JobState};

use crate::Store;
use crate::database::on_db;
use crate::error::StoreError;
use crate::jobs::row::{JobRow, select_jobs};
use crate::sql::query;

/// Which jobs to list.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only those in this state.
    pub state: Option<JobState>,
    /// Only those of this workspace.
    pub workspace: Option<WorkspaceId>,
    /// Only those that the caller handed in with this session of its own.
    pub group: Option<String>,
    /// Only those that were handed in before this one.
    pub before: Option<JobId>,
    /// Those too that have not ended, however old they are.
    pub unended: bool,
}

/// How many jobs of an engine in a workspace hold a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The engine.
    pub engine: String,
    /// How many.
    pub count: i64,
}

/// A queue: jobs of one engine in one workspace that wait for a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The engine.
    pub engine: String,
}

impl Store {
    /// The ids that begin with `prefix`, at most `limit` of them. Whether `prefix` is one itself comes first.
    pub async fn job_ids(&self, prefix: &str, limit: i64) -> Result<Vec<JobId>, StoreError> {
        // Ids have letters, digits and dashes, which all sort before a tilde.
        const LIST: &str = "SELECT id FROM jobs WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3";
        let rows: Vec<(String,)> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(prefix)
                .bind(format!("{prefix}~"))
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter()
            .map(|(id,)| {
                id.parse()
                    .map_err(|_| StoreError::corrupt("jobs", &id, "id"))
            })
            .collect()
    }

    /// The jobs that `filter` lets through, newest first, at most `limit` of them, each with the beginning of its prompt
    /// and of its result.
    pub async fn jobs(&self, filter: &JobFilter, limit: i64) -> Result<Vec<Job>, StoreError> {
        // Each text fits an index; a single one with every condition optional would fit none.
        macro_rules! newest_jobs {
            ($first:literal) => {
                select_jobs!(
                    "SUBSTR(jobs.prompt, 1, 500)",
                    "SUBSTR(jobs.result, 1, 500)",
                    "WHERE ",
                    $first,
                    " AND (CAST($2 AS TEXT) IS NULL OR jobs.workspace = $2) \
                     AND (CAST($3 AS TEXT) IS NULL OR jobs.state = $3) AND (CAST($4 AS BIGINT) IS NULL \
                     OR jobs.created_at < $4 OR (jobs.created_at = $4 AND jobs.id < $5)) \
                     ORDER BY jobs.created_at DESC, jobs.id DESC LIMIT $6"
                )
            };
        }
        const BY_GROUP: &str = newest_jobs!("jobs.caller_group = $1");
        const BY_WORKSPACE: &str = newest_jobs!("jobs.workspace = $1");
        const BY_STATE: &str = newest_jobs!("jobs.state = $1");
        const ALL: &str = newest_jobs!("CAST($1 AS TEXT) IS NULL");
        let before = match &filter.before {
            Some(id) => self.job_made_at(id).await?,
            None => None,
        };
        let workspace = filter.workspace.map(|id| id.to_string());
        let state = filter.state.map(JobState::name);
        let (text, first) = match (&filter.group, &workspace, state) {
            (Some(group), _, _) => (BY_GROUP, Some(group.clone())),
            (None, _, Some(state)) => (BY_STATE, Some(state.to_owned())),
            (None, Some(workspace), None) => (BY_WORKSPACE, Some(workspace.clone())),
            (None, None, None) => (ALL, None),
        };
        let rows: Vec<JobRow> = on_db!(&self.db, |connection| {
            query(text)
                .bind(first)
                .bind(workspace)
                .bind(state)
                .bind(before)
                .bind(filter.before.as_ref().map(JobId::as_str))
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Job::try_from).collect()
    }

    /// The jobs of the filter's workspace and group that have not ended and are older than `than`, newest first.
    pub async fn unended_jobs_before(
        &self,
        filter: &JobFilter,
        than: &Job,
        limit: i64,
    ) -> Result<Vec<Job>, StoreError> {
        const LIST: &str = select_jobs!(
            "SUBSTR(jobs.prompt, 1, 500)",
            "jobs.result",
            "WHERE jobs.state IN ('queued', 'starting', 'running', 'waiting') \
             AND (CAST($1 AS TEXT) IS NULL OR jobs.workspace = $1) \
             AND (CAST($2 AS TEXT) IS NULL OR jobs.caller_group = $2) \
             AND (jobs.created_at < $3 OR (jobs.created_at = $3 AND jobs.id < $4)) \
             ORDER BY jobs.created_at DESC, jobs.id DESC LIMIT $5"
        );
        let rows: Vec<JobRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(filter.workspace.map(|id| id.to_string()))
                .bind(filter.group.clone())
                .bind(than.created_at.as_micros())
                .bind(than.id.as_str())
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Job::try_from).collect()
    }

    /// When a job was handed in, as it is stored.
    async fn job_made_at(&self, id: &JobId) -> Result<Option<i64>, StoreError> {
        const GET: &str = "SELECT created_at FROM jobs WHERE id = $1";
        let row: Option<(i64,)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.as_str())
                .fetch_optional(connection)
                .await?
        });
        Ok(row.map(|(at,)| at))
    }

    /// The jobs that hold a place, oldest first; without their results, which they do not have yet.
    pub async fn active_jobs(&self) -> Result<Vec<Job>, StoreError> {
        const LIST: &str = select_jobs!(
            "SUBSTR(jobs.prompt, 1, 500)",
            "jobs.result",
            "WHERE jobs.state IN ('starting', 'running', 'waiting') ORDER BY jobs.started_at, jobs.id"
        );
        let rows: Vec<JobRow> = on_db!(&self.db, |connection| {
            query(LIST).fetch_all(connection).await?
        });
        rows.into_iter().map(Job::try_from).collect()
    }

    /// How many jobs hold a place, by workspace and engine.
    pub async fn busy_places(&self) -> Result<Vec<Busy>, StoreError> {
        const COUNT: &str = "SELECT workspace, engine, COUNT(*) FROM jobs \
             WHERE state IN ('starting', 'running', 'waiting') GROUP BY workspace, engine";
        let rows: Vec<(String, String, i64)> = on_db!(&self.db, |connection| {
            query(COUNT).fetch_all(connection).await?
        });
        rows.into_iter()
            .map(|(workspace, engine, count)| {
                let workspace = workspace
                    .parse()
                    .map_err(|_| StoreError::corrupt("jobs", &workspace, "workspace"))?;
                Ok(Busy {
                    workspace,
                    engine,
                    count,
                })
            })
            .collect()
    }

    /// The queues in which jobs wait.
    pub async fn queues(&self) -> Result<Vec<Queue>, StoreError> {
        const LIST: &str = "SELECT DISTINCT workspace, engine FROM jobs WHERE state = 'queued'";
        let rows: Vec<(String, String)> = on_db!(&self.db, |connection| {
            query(LIST).fetch_all(connection).await?
        });
        rows.into_iter()
            .map(|(workspace, engine)| {
                let workspace = workspace
                    .parse()
                    .map_err(|_| StoreError::corrupt("jobs", &workspace, "workspace"))?;
                Ok(Queue { workspace, engine })
            })
            .collect()
    }

    /// The jobs that are next in a queue, at most `limit` of them.
    pub async fn queued_jobs(&self, queue: &Queue, limit: i64) -> Result<Vec<Job>, StoreError> {
        const LIST: &str = select_jobs!(
            "SUBSTR(jobs.prompt, 1, 500)",
            "jobs.result",
            "WHERE jobs.state = 'queued' AND jobs.workspace = $1 AND jobs.engine = $2 \
             ORDER BY jobs.priority DESC, jobs.created_at, jobs.id LIMIT $3"
        );
        let rows: Vec<JobRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(queue.workspace.to_string())
                .bind(&queue.engine)
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Job::try_from).collect()
    }

    /// How many jobs of the same queue are started before this one.
    pub async fn queue_place(&self, job: &Job) -> Result<i64, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM jobs WHERE state = 'queued' AND workspace = $1 AND engine = $2 \
             AND (priority > $3 OR (priority = $3 AND (created_at < $4 OR (created_at = $4 AND id < $5))))";
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(COUNT)
                .bind(job.workspace.to_string())
                .bind(&job.engine)
                .bind(job.priority)
                .bind(job.created_at.as_micros())
                .bind(job.id.as_str())
                .fetch_one(connection)
                .await?
        });
        Ok(count)
    }

    /// How many jobs have not ended.
    pub async fn count_unended_jobs(&self) -> Result<i64, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM jobs \
             WHERE state IN ('queued', 'starting', 'running', 'waiting')";
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(COUNT).fetch_one(connection).await?
        });
        Ok(count)
    }

    /// The workspaces in which jobs have not ended.
    pub async fn workspaces_with_jobs(&self) -> Result<Vec<WorkspaceId>, StoreError> {
        const LIST: &str = "SELECT DISTINCT workspace FROM jobs \
             WHERE state IN ('queued', 'starting', 'running', 'waiting')";
        let rows: Vec<(String,)> = on_db!(&self.db, |connection| {
            query(LIST).fetch_all(connection).await?
        });
        rows.into_iter()
            .map(|(id,)| {
                id.parse()
                    .map_err(|_| StoreError::corrupt("jobs", &id, "workspace"))
            })
            .collect()
    }

    /// The workspace whose path is `path`, served or not.
    pub async fn workspace_at(&self, path: &str) -> Result<Option<WorkspaceId>, StoreError> {
        const GET: &str = "SELECT id FROM workspaces WHERE path = $1";
        let row: Option<(String,)> = on_db!(&self.db, |connection| {
            query(GET).bind(path).fetch_optional(connection).await?
        });
        row.map(|(id,)| {
            id.parse()
                .map_err(|_| StoreError::corrupt("workspaces", &id, "id"))
        })
        .transpose()
    }

    /// The newest job of a session.
    pub async fn job_of_session(&self, session: SessionId) -> Result<Option<Job>, StoreError> {
        const GET: &str = select_jobs!(
            "SUBSTR(jobs.prompt, 1, 500)",
            "SUBSTR(jobs.result, 1, 500)",
            "WHERE jobs.session = $1 ORDER BY jobs.created_at DESC, jobs.id DESC LIMIT 1"
        );
        let row: Option<JobRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(session.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Job::try_from).transpose()
    }
}
